//! Lines and brands: through which number of the provider a participant is reached, and in whose name.

use crate::ids::{BrandId, BusinessAccountId, ChannelId, WorkspaceId};
use crate::refused::Refused;
use crate::secret::Secret;
use crate::text::{Unfit, operator_name};
use crate::time::Timestamp;
use crate::words::words;

/// A provider of messaging. `messageProviderType` of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// WhatsApp.
    #[default]
    WhatsApp,
}

words!(
    /// The words of the API.
    Provider {
        WhatsApp: "WHATSAPP",
    }
);

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

impl Line {
    const CHANNEL: &'static str = "^[0-9A-Za-z_-]{1,128}$";
    const TOKEN: &'static str = "^[!-~]{1,4096}$";

    /// A new line. Its channel is part of the URL that is called to send, and is of characters that mean nothing there.
    pub fn new(
        workspace_id: WorkspaceId,
        channel: ChannelId,
        brand: BrandId,
        business_account: BusinessAccountId,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !channel.as_str().bytes().all(plain) {
            return Err(Unfit::Shape { pattern: Self::CHANNEL });
        }
        Ok(Self { channel, workspace_id, brand, business_account, created_at: now, version: 1 })
    }

    /// Reads the token by which the provider knows the line's owner: 1 to 4,096 visible characters, as it travels in
    /// a header.
    pub fn token(text: &str) -> Result<Secret, Unfit> {
        let fits = (1..=4_096).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Secret::new(text)) } else { Err(Unfit::Shape { pattern: Self::TOKEN }) }
    }
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

impl Brand {
    /// A new brand, without a line.
    pub fn new(id: BrandId, workspace_id: WorkspaceId, name: &str, now: Timestamp) -> Result<Self, Unfit> {
        let name = operator_name(name)?;
        Ok(Self { id, workspace_id, name, line: None, created_at: now, version: 1 })
    }
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
    /// [`Refused::UnknownLine`] when a name is nobody's, when there is no line to fall back to, or when both are named
    /// and the line is neither the brand's nor what the brand alone would have meant.
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

    /// The line of that id.
    pub fn line(&self, channel: &ChannelId) -> Option<&Line> {
        self.lines.iter().find(|line| line.channel == *channel)
    }

    /// The brand of that id.
    pub fn brand(&self, id: &BrandId) -> Option<&Brand> {
        self.brands.iter().find(|brand| brand.id == *id)
    }

    /// Whether there is room for a new brand of that id.
    pub fn admit_brand(&self, id: &BrandId) -> Result<(), LinesRefused> {
        if self.brand(id).is_some() {
            Err(LinesRefused::BrandExists(id.clone()))
        } else if self.brands.len() >= Self::MAX {
            Err(LinesRefused::TooManyBrands)
        } else {
            Ok(())
        }
    }

    /// Whether there is room for a new line of a brand that is there. `Some` is the brand's next version: its first
    /// line becomes the one it writes from.
    pub fn admit_line(&self, line: &Line) -> Result<Option<Brand>, LinesRefused> {
        if self.line(&line.channel).is_some() {
            return Err(LinesRefused::LineExists(line.channel.clone()));
        }
        if self.lines.len() >= Self::MAX {
            return Err(LinesRefused::TooManyLines);
        }
        let brand = self.brand(&line.brand).ok_or_else(|| LinesRefused::UnknownBrand(line.brand.clone()))?;
        let first =
            || Brand { line: Some(line.channel.clone()), version: brand.version + 1, ..brand.clone() };
        Ok(brand.line.is_none().then(first))
    }
}

/// Why a workspace does not take a brand or a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinesRefused {
    /// As many lines as it may have.
    #[error("the workspace already has {} lines, which is the maximum", Lines::MAX)]
    TooManyLines,
    /// As many brands as it may have.
    #[error("the workspace already has {} brands, which is the maximum", Lines::MAX)]
    TooManyBrands,
    /// A line of that id is there.
    #[error("the workspace already has a line {0:?}")]
    LineExists(ChannelId),
    /// A brand of that id is there.
    #[error("the workspace already has a brand {0:?}")]
    BrandExists(BrandId),
    /// The line's brand is not there.
    #[error("the workspace has no brand {0:?}")]
    UnknownBrand(BrandId),
}

#[cfg(test)]
mod tests;
