//! Onboarding: the templates that open a conversation.

use std::collections::BTreeMap;

use crate::ids::{ConversationId, TemplateId, WorkspaceId};
use crate::line::{BusinessAccountId, ChannelId};
use crate::message::Recipient;
use crate::refused::{Origin, Refused};
use crate::template::{Parameters, Template};
use crate::text::Unfit;
use crate::time::Timestamp;

/// A workspace's set-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onboarding {
    /// What a caller's templates take the place of.
    pub overriding: Override,
    /// The templates sent where the caller gives none, in order; at most [`Onboarding::MAX`].
    pub sequence: Vec<TemplateId>,
}

/// What a caller's templates take the place of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Override {
    /// The whole sequence.
    #[default]
    Entire,
    /// The sequence's first template; the rest follows.
    FirstOnly,
}

impl Override {
    /// The words by which operators name them.
    pub const NAMES: &'static [&'static str] = &["ENTIRE", "FIRST_ONLY"];

    /// Reads an operator's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "ENTIRE" => Ok(Self::Entire),
            "FIRST_ONLY" => Ok(Self::FirstOnly),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The operator's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A template that the caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The template.
    pub template: TemplateId,
    /// The caller's values.
    pub parameters: Parameters,
}

/// The templates to be sent into a conversation, in order, to those who took part when it was made. An item of its
/// own: the sender makes messages of it one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnboardingPlan {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// To whom each template goes.
    pub recipients: Vec<Recipient>,
    /// What is sent, in order; the number of a step is its message's number in the conversation, from 1.
    pub steps: Vec<Requested>,
    /// How many of the steps have become messages.
    pub done: usize,
    /// When the conversation was made.
    pub created_at: Timestamp,
}

/// A participant's line, for the question whether a template is approved there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The line.
    pub channel: ChannelId,
    /// The account behind it.
    pub business_account: BusinessAccountId,
}

impl Onboarding {
    /// The greatest number of templates of a sequence, and of a request.
    pub const MAX: usize = 10;

    /// A set-up of at most [`Onboarding::MAX`] templates.
    pub fn new(overriding: Override, sequence: Vec<TemplateId>) -> Result<Self, SequenceTooLong> {
        if sequence.len() > Self::MAX { Err(SequenceTooLong) } else { Ok(Self { overriding, sequence }) }
    }

    /// The configured templates that are sent besides the caller's: all where the caller says nothing of templates.
    /// A caller who says "none" (an empty list) replaces the sequence, or its first template, by nothing.
    pub fn following(&self, requested: Option<&[Requested]>) -> &[TemplateId] {
        match (requested, self.overriding) {
            (None, _) => &self.sequence,
            (Some(_), Override::Entire) => &[],
            (Some(_), Override::FirstOnly) => self.sequence.get(1..).unwrap_or_default(),
        }
    }

    /// What is sent, in order: the caller's templates, then the configured ones that follow. `templates` are those
    /// that the workspace may use, by id.
    ///
    /// Refused by the first template that is at fault, the caller's before the configured ones, and each for the first
    /// of: it is not there (0601); it takes no such parameter (0604); it lacks one (0603), or, configured, needs the
    /// caller (0608); it is not approved on a line (0602).
    pub fn plan(
        &self,
        requested: Option<&[Requested]>,
        templates: &BTreeMap<TemplateId, Template>,
        lines: &[Reached],
    ) -> Result<Vec<Requested>, Refused> {
        let mut steps = requested.unwrap_or_default().to_vec();
        for request in &steps {
            let template = found(request.template, templates, Origin::Request)?;
            check_parameters(template, &request.parameters)?;
            check_approval(template, lines, Origin::Request)?;
        }
        for id in self.following(requested) {
            let template = found(*id, templates, Origin::WorkspaceConfiguration)?;
            if template.caller_parameters().next().is_some() {
                return Err(Refused::ConfiguredTemplateNeedsCaller { template: *id });
            }
            check_approval(template, lines, Origin::WorkspaceConfiguration)?;
            steps.push(Requested { template: *id, parameters: Parameters::new() });
        }
        Ok(steps)
    }
}

/// More templates than [`Onboarding::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sequence has at most {} templates", Onboarding::MAX)]
pub struct SequenceTooLong;

fn found(
    id: TemplateId,
    templates: &BTreeMap<TemplateId, Template>,
    origin: Origin,
) -> Result<&Template, Refused> {
    templates.get(&id).ok_or(Refused::UnknownTemplate { template: id, origin })
}

fn check_parameters(template: &Template, given: &Parameters) -> Result<(), Refused> {
    let takes: Vec<&str> = template.caller_parameters().collect();
    let foreign: Vec<String> = given.keys().filter(|name| !takes.contains(&name.as_str())).cloned().collect();
    if !foreign.is_empty() {
        return Err(Refused::ForeignParameters { template: template.id, parameters: foreign });
    }
    let missing: Vec<String> =
        takes.iter().filter(|name| !given.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refused::MissingParameters { template: template.id, parameters: missing })
    }
}

fn check_approval(template: &Template, lines: &[Reached], origin: Origin) -> Result<(), Refused> {
    match lines.iter().find(|line| !template.approved_by.contains(&line.business_account)) {
        None => Ok(()),
        Some(line) => {
            Err(Refused::TemplateNotApproved { template: template.id, channel: line.channel.clone(), origin })
        }
    }
}
