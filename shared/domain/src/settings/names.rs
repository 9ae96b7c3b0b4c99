//! Names of settings, which are unique within their kind.

use crate::ids::{BrandId, ChannelId, TeamId, TemplateId};
use crate::text::same_name;

/// Another setting of the same kind has the name. Case and surrounding white space do not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameTaken {
    /// A brand of the workspace.
    #[error("the brand {0:?} already has this name")]
    Brand(BrandId),
    /// A line of the workspace.
    #[error("the line {0:?} already has this name")]
    Line(ChannelId),
    /// A team of the workspace.
    #[error("the team {0} already has this name")]
    Team(TeamId),
    /// A template of the same scope and provider.
    #[error("the template {0} already has this name in this language")]
    Template(TemplateId),
}

/// The first of `others` that has this name.
pub(super) fn holder<'a, T>(name: &str, mut others: impl Iterator<Item = (T, &'a str)>) -> Option<T> {
    others.find(|(_, other)| same_name(name, other)).map(|(holder, _)| holder)
}
