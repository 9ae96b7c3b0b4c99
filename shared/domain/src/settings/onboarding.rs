//! Onboarding: the templates that start a conversation.

use std::collections::BTreeMap;

use crate::ids::{BusinessAccountId, ChannelId, TemplateId};
use crate::refused::{Origin, Refused};
use crate::settings::line::Line;
use crate::settings::template::{Parameters, Requested, Template};
use crate::words::words;

/// The onboarding settings of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onboarding {
    /// The part of the sequence that a request's templates replace.
    pub overriding: Override,
    /// The configured templates, in order; at most [`Onboarding::MAX`]. They are sent if the request gives no
    /// templates.
    pub sequence: Vec<TemplateId>,
}

/// The part of the sequence that a request's templates replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Override {
    /// The whole sequence.
    #[default]
    Entire,
    /// Only the first template of the sequence. The other templates follow.
    FirstOnly,
}

words!(
    /// The names that operators use.
    Override {
        Entire: "ENTIRE",
        FirstOnly: "FIRST_ONLY",
    }
);

/// A participant's line. The template must be approved for its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The line.
    pub channel: ChannelId,
    /// The account at the provider that owns the line.
    pub business_account: BusinessAccountId,
}

impl From<&Line> for Reached {
    fn from(line: &Line) -> Self {
        Self { channel: line.channel.clone(), business_account: line.business_account.clone() }
    }
}

impl Onboarding {
    /// The greatest number of templates in a sequence, and in a request.
    pub const MAX: usize = 10;

    /// Makes settings. Returns an error for more than [`Onboarding::MAX`] templates.
    pub fn new(overriding: Override, sequence: Vec<TemplateId>) -> Result<Self, SequenceTooLong> {
        if sequence.len() > Self::MAX { Err(SequenceTooLong) } else { Ok(Self { overriding, sequence }) }
    }

    /// The configured templates that are sent after the request's templates; all of them if `requested` is
    /// `None`. An empty list in the request replaces the sequence, or its first template, by nothing.
    pub fn following(&self, requested: Option<&[Requested]>) -> &[TemplateId] {
        match (requested, self.overriding) {
            (None, _) => &self.sequence,
            (Some(_), Override::Entire) => &[],
            (Some(_), Override::FirstOnly) => self.sequence.get(1..).unwrap_or_default(),
        }
    }

    /// Checks the sequence when an operator sets it up: a conversation on these lines whose request gives no
    /// templates must not be refused for it. It is the rule of [`Onboarding::plan`]. A request that gives
    /// templates sends fewer of the configured ones.
    pub fn check(
        &self,
        templates: &BTreeMap<TemplateId, Template>,
        lines: &[Reached],
    ) -> Result<(), Refused> {
        self.plan(None, templates, lines).map(|_| ())
    }

    /// The templates to send, in order: the requested ones, then the configured ones that follow. `templates`
    /// are the templates that the workspace may use, by id.
    ///
    /// The first template at fault decides the error; requested templates are checked before configured ones.
    /// For each template, the checks have this order: it does not exist (0601); it does not take a given
    /// parameter (0604); a parameter is missing (0603), or a configured template needs a caller's values
    /// (0608); it is not approved for a line's account (0602).
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
