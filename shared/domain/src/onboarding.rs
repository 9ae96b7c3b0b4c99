//! Onboarding: the templates that open a conversation.

use std::collections::BTreeMap;

use crate::ids::{ConversationId, TemplateId, WorkspaceId};
use crate::line::{BusinessAccountId, ChannelId};
use crate::message::Recipient;
use crate::refused::{Origin, Refused};
use crate::template::{Parameters, Template};
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

    /// The configured templates that are sent besides the caller's: all where the caller gives none.
    pub fn following(&self, requested: &[Requested]) -> &[TemplateId] {
        match (requested.is_empty(), self.overriding) {
            (true, _) => &self.sequence,
            (false, Override::Entire) => &[],
            (false, Override::FirstOnly) => self.sequence.get(1..).unwrap_or_default(),
        }
    }

    /// What is sent, in order: the caller's templates, then the configured ones that follow. `templates` are those
    /// that the workspace may use, by id.
    ///
    /// Refused, the caller's first: a template that is not there (0601), that takes no such parameter (0604) or
    /// lacks one (0603), a configured one that needs the caller (0608), one that is not approved on a line (0602).
    pub fn plan(
        &self,
        requested: &[Requested],
        templates: &BTreeMap<TemplateId, Template>,
        lines: &[Reached],
    ) -> Result<Vec<Requested>, Refused> {
        for request in requested {
            let template = found(request.template, templates, Origin::Request)?;
            check_parameters(template, &request.parameters)?;
            check_approval(template, lines, Origin::Request)?;
        }
        let mut steps = requested.to_vec();
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
