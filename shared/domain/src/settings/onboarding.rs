//! Onboarding: the templates that open a conversation.

use std::collections::BTreeMap;

use crate::ids::{BusinessAccountId, ChannelId, TemplateId};
use crate::refused::{Origin, Refused};
use crate::settings::template::{Parameters, Requested, Template};
use crate::words::words;

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

words!(
    /// The words by which operators name them.
    Override {
        Entire: "ENTIRE",
        FirstOnly: "FIRST_ONLY",
    }
);

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

#[cfg(test)]
mod tests;
