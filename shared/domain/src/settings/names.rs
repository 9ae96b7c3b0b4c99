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

impl NameTaken {
    /// The id of the setting that has the name.
    pub fn holder(&self) -> String {
        match self {
            Self::Brand(id) => id.as_str().to_owned(),
            Self::Line(id) => id.as_str().to_owned(),
            Self::Team(id) => id.to_string(),
            Self::Template(id) => id.to_string(),
        }
    }
}

/// The first of `others` that has this name.
pub(super) fn holder<'a, T>(name: &str, mut others: impl Iterator<Item = (T, &'a str)>) -> Option<T> {
    others.find(|(_, other)| same_name(name, other)).map(|(holder, _)| holder)
}
