//! Lines and brands: through which number of the provider a participant is reached, and in whose name.

use std::fmt;

use crate::ids::WorkspaceId;
use crate::refused::Refused;
use crate::text::{Unfit, within};
use crate::time::Timestamp;

macro_rules! names_of_others {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The greatest number of characters.
            pub const MAX: usize = 128;

            /// Reads a name that somebody else gave: 1 to 128 characters.
            pub fn parse(text: &str) -> Result<Self, Unfit> {
                within(text, 1, Self::MAX)?;
                Ok(Self(text.to_owned()))
            }

            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names_of_others! {
    /// A line's id at the provider: WhatsApp's phone number id. `providerChannelId` of the API.
    ChannelId;
    /// A brand of a workspace. `brandId` of the API.
    BrandId;
    /// The account at the provider that a line belongs to and that templates are approved for.
    BusinessAccountId;
}

/// A line: a number of the provider's from which a workspace writes. Its token is kept apart, among the secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its id at the provider.
    pub channel: ChannelId,
    /// The workspace whose line it is.
    pub workspace_id: WorkspaceId,
    /// The brand that writes from it.
    pub brand: BrandId,
    /// The account behind it.
    pub business_account: BusinessAccountId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

/// A brand of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brand {
    /// Its id.
    pub id: BrandId,
    /// The workspace whose brand it is.
    pub workspace_id: WorkspaceId,
    /// Name shown to operators, 1 to 256 characters.
    pub name: String,
    /// The line from which it writes where the caller names none.
    pub line: Option<ChannelId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

/// All lines and brands of a workspace, and the line it writes from where nobody says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The workspace's lines, at most [`Lines::MAX`].
    pub lines: Vec<Line>,
    /// Its brands, at most [`Lines::MAX`].
    pub brands: Vec<Brand>,
    /// Its default line.
    pub default: Option<ChannelId>,
}

impl Lines {
    /// The greatest number of lines, and of brands, of a workspace.
    pub const MAX: usize = 50;

    /// The line that an input's `providerChannelId` and `brandId` mean, and the brand: the line named, else the
    /// brand's, else the workspace's default; the brand named, else the line's.
    ///
    /// [`Refused::UnknownLine`] when a name is nobody's, when both are named and do not belong together, or when
    /// there is no line to fall back to.
    pub fn resolve(
        &self,
        channel: Option<&ChannelId>,
        brand: Option<&BrandId>,
    ) -> Result<(&Line, BrandId), Refused> {
        let refused = || Refused::UnknownLine { channel: channel.cloned(), brand: brand.cloned() };
        let named_brand = match brand {
            Some(id) => Some(self.brands.iter().find(|known| known.id == *id).ok_or_else(refused)?),
            None => None,
        };
        let fallback = named_brand.and_then(|brand| brand.line.as_ref()).or(self.default.as_ref());
        let wanted = channel.or(fallback).ok_or_else(refused)?;
        let line = self.line(wanted).ok_or_else(refused)?;
        if channel.is_some() && brand.is_some_and(|brand| line.brand != *brand) {
            return Err(refused());
        }
        Ok((line, brand.unwrap_or(&line.brand).clone()))
    }

    /// The line of that id.
    pub fn line(&self, channel: &ChannelId) -> Option<&Line> {
        self.lines.iter().find(|line| line.channel == *channel)
    }
}
