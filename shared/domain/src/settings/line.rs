//! Lines and brands: the provider's numbers that reach participants, and the senders' identities.

use std::collections::BTreeSet;

use crate::ids::{BrandId, BusinessAccountId, ChannelId, WorkspaceId};
use crate::refused::Refused;
use crate::secret::Secret;
use crate::settings::names::{NameTaken, holder};
use crate::text::{Unfit, operator_name};
use crate::time::Timestamp;
use crate::words::words;

/// A messaging provider. `messageProviderType` in the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// WhatsApp.
    #[default]
    WhatsApp,
}

words!(
    /// The values of the API field.
    Provider {
        WhatsApp: "WHATSAPP",
    }
);

/// A line: a phone number at the provider that a workspace sends from. Its token is stored separately, with
/// the other secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line's id at the provider.
    pub channel: ChannelId,
    /// The workspace that owns the line.
    pub workspace_id: WorkspaceId,
    /// The brand that sends from the line.
    pub brand: BrandId,
    /// The account at the provider that owns the line.
    pub business_account: BusinessAccountId,
    /// The name that operators see, 1 to 256 characters, if it has one.
    pub name: Option<String>,
    /// When the line was created.
    pub created_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

impl Line {
    const CHANNEL: &'static str = "^[0-9A-Za-z_-]{1,128}$";
    const TOKEN: &'static str = "^[!-~]{1,4096}$";

    /// A new line, without a name. Its channel becomes a part of the URL of the sending call, so it may only contain letters,
    /// digits, `_` and `-`.
    pub fn new(
        workspace_id: WorkspaceId,
        channel: ChannelId,
        brand: BrandId,
        business_account: BusinessAccountId,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !channel.as_str().bytes().all(plain) {
            let form = "1 to 128 ASCII letters, digits, underscores or hyphens, such as 106540352242922";
            return Err(Unfit::Shape { pattern: Self::CHANNEL, form });
        }
        Ok(Self { channel, workspace_id, brand, business_account, name: None, created_at: now, version: 1 })
    }

    /// The line with this name. `None` if it has the name already.
    pub fn renamed(&self, name: &str) -> Result<Option<Self>, Unfit> {
        let name = Some(operator_name(name)?);
        let version = self.version + 1;
        Ok((self.name != name).then(|| Self { name, version, ..self.clone() }))
    }

    /// The line's next version, for a new token, which is stored separately.
    pub fn with_new_token(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }

    /// Parses the line's access token for the provider: 1 to 4,096 visible ASCII characters, because it is
    /// sent in a header.
    pub fn token(text: &str) -> Result<Secret, Unfit> {
        let fits = (1..=4_096).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        let form = "1 to 4096 visible ASCII characters, without spaces";
        if fits { Ok(Secret::new(text)) } else { Err(Unfit::Shape { pattern: Self::TOKEN, form }) }
    }
}

/// A brand of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brand {
    /// The brand's id.
    pub id: BrandId,
    /// The workspace that owns the brand.
    pub workspace_id: WorkspaceId,
    /// The name that operators see, 1 to 256 characters.
    pub name: String,
    /// The default line of the brand.
    pub line: Option<ChannelId>,
    /// When the brand was created.
    pub created_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

impl Brand {
    /// A new brand, without a line.
    pub fn new(id: BrandId, workspace_id: WorkspaceId, name: &str, now: Timestamp) -> Result<Self, Unfit> {
        let name = operator_name(name)?;
        Ok(Self { id, workspace_id, name, line: None, created_at: now, version: 1 })
    }

    /// The brand with this name. `None` if it has the name already.
    pub fn renamed(&self, name: &str) -> Result<Option<Self>, Unfit> {
        let name = operator_name(name)?;
        let version = self.version + 1;
        Ok((self.name != name).then(|| Self { name, version, ..self.clone() }))
    }

    /// The brand with this default line. `None` if that is its default line already.
    pub fn with_line(&self, line: Option<&ChannelId>) -> Option<Self> {
        let version = self.version + 1;
        (self.line.as_ref() != line).then(|| Self { line: line.cloned(), version, ..self.clone() })
    }
}

/// All lines and brands of a workspace, with its default line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The workspace's lines, at most [`Lines::MAX`].
    pub lines: Vec<Line>,
    /// The workspace's brands, at most [`Lines::MAX`].
    pub brands: Vec<Brand>,
    /// The workspace's default line.
    pub default: Option<ChannelId>,
}

impl Lines {
    /// The greatest number of lines, and of brands, in a workspace.
    pub const MAX: usize = 50;

    /// The accounts of the lines, or of the line with this id. A tenant sees the status of a template for these only.
    pub fn accounts(&self, channel: Option<&ChannelId>) -> Vec<&BusinessAccountId> {
        let wanted = self.lines.iter().filter(|line| channel.is_none_or(|channel| line.channel == *channel));
        wanted.map(|line| &line.business_account).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The line and the brand for an input's `providerChannelId` and `brandId`. The line is the given one,
    /// otherwise the brand's, otherwise the workspace's default. The brand is the given one, otherwise the
    /// line's.
    ///
    /// Returns [`Refused::UnknownLine`] if a given id does not exist, if there is no line to fall back to, or
    /// if both are given and the line neither belongs to the brand nor is the line that the brand alone
    /// resolves to.
    pub fn resolve(
        &self,
        channel: Option<&ChannelId>,
        brand: Option<&BrandId>,
    ) -> Result<(&Line, BrandId), Refused> {
        let refused = || Refused::UnknownLine { channel: channel.cloned(), brand: brand.cloned() };
        let named = match brand {
            Some(id) => Some(self.brand(id).ok_or_else(refused)?),
            None => None,
        };
        let fallback = named.and_then(|brand| brand.line.as_ref()).or(self.default.as_ref());
        let line = self.line(channel.or(fallback).ok_or_else(refused)?).ok_or_else(refused)?;
        match named {
            Some(brand) if line.brand != brand.id && fallback != Some(&line.channel) => Err(refused()),
            Some(brand) => Ok((line, brand.id.clone())),
            None => Ok((line, line.brand.clone())),
        }
    }

    /// The workspace's default line, otherwise its oldest.
    pub fn default_or_oldest(&self) -> Option<&Line> {
        let default = self.default.as_ref().and_then(|channel| self.line(channel));
        default.or_else(|| self.lines.iter().min_by_key(|line| (line.created_at, &line.channel)))
    }

    /// The line with this id.
    pub fn line(&self, channel: &ChannelId) -> Option<&Line> {
        self.lines.iter().find(|line| line.channel == *channel)
    }

    /// The brand with this id.
    pub fn brand(&self, id: &BrandId) -> Option<&Brand> {
        self.brands.iter().find(|brand| brand.id == *id)
    }

    /// Checks whether the workspace can add this brand.
    pub fn admit_brand(&self, brand: &Brand) -> Result<(), LinesRefused> {
        if self.brand(&brand.id).is_some() {
            Err(LinesRefused::BrandExists(brand.id.clone()))
        } else if self.brands.len() >= Self::MAX {
            Err(LinesRefused::TooManyBrands)
        } else {
            Ok(self.check_brand_name(brand)?)
        }
    }

    /// Checks that no other brand of the workspace has this brand's name.
    pub fn check_brand_name(&self, brand: &Brand) -> Result<(), NameTaken> {
        let others = self.brands.iter().filter(|other| other.id != brand.id);
        let named = others.map(|other| (&other.id, other.name.as_str()));
        holder(&brand.name, named).map_or(Ok(()), |id| Err(NameTaken::Brand(id.clone())))
    }

    /// Checks that no other line of the workspace has this line's name. Any number of lines may have no name.
    pub fn check_line_name(&self, line: &Line) -> Result<(), NameTaken> {
        let Some(name) = &line.name else { return Ok(()) };
        let others = self.lines.iter().filter(|other| other.channel != line.channel);
        let named = others.filter_map(|other| Some((&other.channel, other.name.as_deref()?)));
        holder(name, named).map_or(Ok(()), |channel| Err(NameTaken::Line(channel.clone())))
    }

    /// Checks whether the workspace can add this line of an existing brand. `Some` is the brand's next
    /// version: a brand's first line becomes its default line.
    pub fn admit_line(&self, line: &Line) -> Result<Option<Brand>, LinesRefused> {
        if self.line(&line.channel).is_some() {
            return Err(LinesRefused::LineExists(line.channel.clone()));
        }
        if self.lines.len() >= Self::MAX {
            return Err(LinesRefused::TooManyLines);
        }
        let brand = self.brand(&line.brand).ok_or_else(|| LinesRefused::UnknownBrand(line.brand.clone()))?;
        self.check_line_name(line)?;
        Ok(if brand.line.is_none() { brand.with_line(Some(&line.channel)) } else { None })
    }
}

/// Why a workspace cannot add a brand or a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinesRefused {
    /// The workspace has the greatest number of lines.
    #[error("the workspace already has {} lines, which is the maximum", Lines::MAX)]
    TooManyLines,
    /// The workspace has the greatest number of brands.
    #[error("the workspace already has {} brands, which is the maximum", Lines::MAX)]
    TooManyBrands,
    /// A line with this id exists.
    #[error("the workspace already has a line {0:?}")]
    LineExists(ChannelId),
    /// A brand with this id exists.
    #[error("the workspace already has a brand {0:?}")]
    BrandExists(BrandId),
    /// The line's brand does not exist.
    #[error("the workspace has no brand {0:?}")]
    UnknownBrand(BrandId),
    /// The name is taken.
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
}

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

#[cfg(test)]
mod tests;
