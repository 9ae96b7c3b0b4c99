//! Onboarding: the templates that start a conversation.

use std::collections::BTreeMap;

use crate::ids::TemplateId;
use crate::refused::{Origin, Refused};
use crate::settings::template::{Accepting, Parameters, Requested, Template, TemplateContent};
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

impl Onboarding {
    /// The greatest number of templates in a sequence, and in a request.
    pub const MAX: usize = 10;

    /// Makes settings. Returns an error for more than [`Onboarding::MAX`] templates.
    pub fn new(overriding: Override, sequence: Vec<TemplateId>) -> Result<Self, SequenceTooLong> {
        if sequence.len() > Self::MAX { Err(SequenceTooLong) } else { Ok(Self { overriding, sequence }) }
    }

    /// The names of the fields in which the next settings differ, as requests name them.
    pub fn differences(&self, next: &Self) -> Vec<&'static str> {
        let fields =
            [("override", self.overriding != next.overriding), ("sequence", self.sequence != next.sequence)];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
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
        with: &Accepting<'_>,
    ) -> Result<(), Refused> {
        self.plan(None, templates, with).map(|_| ())
    }

    /// The templates to send, in order: the requested ones, then the configured ones that follow. `templates`
    /// are the templates that the workspace may use, by id.
    ///
    /// The first template at fault decides the error; requested templates are checked before configured ones.
    /// A template that does not exist is 0601. The other checks are those of [`Template::accept`].
    pub fn plan(
        &self,
        requested: Option<&[Requested]>,
        templates: &BTreeMap<TemplateId, Template>,
        with: &Accepting<'_>,
    ) -> Result<Vec<TemplateContent>, Refused> {
        let by_request = requested.unwrap_or_default().iter().cloned().map(|one| (one, Origin::Request));
        let following = self.following(requested).iter().map(|template| {
            let requested = Requested { template: *template, parameters: Parameters::new() };
            (requested, Origin::WorkspaceConfiguration)
        });
        let step = |(requested, origin): (Requested, Origin)| {
            let template = templates.get(&requested.template);
            let unknown = || Refused::UnknownTemplate { template: requested.template, origin };
            template.ok_or_else(unknown)?.accept(&requested, with, origin)
        };
        by_request.chain(following).map(step).collect()
    }
}

/// More templates than [`Onboarding::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sequence has at most {} templates", Onboarding::MAX)]
pub struct SequenceTooLong;

#[cfg(test)]
mod tests;
