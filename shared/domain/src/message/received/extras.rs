//! What the provider says of a customer's message beside its content.

use std::collections::BTreeMap;
use std::fmt;

use super::{Raw, ReceivedText};
use crate::time::Timestamp;
use crate::words::words;

/// What the provider says of a message beside its content. Most messages have nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// The advertisement or post that the message comes from.
    pub referral: Option<Referral>,
    /// The product that the message is about.
    pub referred_product: Option<ReferredProduct>,
    /// Whether the customer forwarded the message.
    pub forwarded: Forwarded,
    /// What the provider could not pass on, at most [`Extras::MAX_ERRORS`].
    pub errors: Vec<ProviderError>,
    /// What of the message the service does not know.
    pub raw: Option<Raw>,
    /// The customer's last edit.
    pub edit: Option<Edit>,
    /// When the customer deleted the message for everyone.
    pub revoked_at: Option<Timestamp>,
}

/// An edit of a message. Of two edits the greater one holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// When the customer made it.
    pub at: Timestamp,
    /// The provider's id of the edit.
    pub id: String,
}

impl Extras {
    /// The provider's code of a message that it cannot show yet: the first one of a customer to a line that a phone uses too.
    const UNAVAILABLE: i64 = 131_060;

    /// Whether the provider says that the content may come later, under the same id.
    pub fn is_unavailable(&self) -> bool {
        self.errors.iter().any(|error| error.code == Some(Self::UNAVAILABLE))
    }

    /// The greatest number of errors.
    pub const MAX_ERRORS: usize = 10;
}

/// The advertisement or post that a message comes from: the fields that the provider gave.
#[derive(Clone, PartialEq, Eq)]
pub struct Referral(pub BTreeMap<ReferralField, ReceivedText>);

/// A field of a referral.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ReferralField {
    SourceUrl,
    SourceId,
    SourceType,
    Body,
    Headline,
    MediaType,
    ImageUrl,
    VideoUrl,
    ThumbnailUrl,
    ClickId,
    WelcomeText,
}

words!(
    /// The names of the fields.
    ReferralField {
        SourceUrl: "sourceUrl",
        SourceId: "sourceId",
        SourceType: "sourceType",
        Body: "body",
        Headline: "headline",
        MediaType: "mediaType",
        ImageUrl: "imageUrl",
        VideoUrl: "videoUrl",
        ThumbnailUrl: "thumbnailUrl",
        ClickId: "clickId",
        WelcomeText: "welcomeText",
    }
);

/// A product of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferredProduct {
    /// The catalogue.
    pub catalog_id: Option<ReceivedText>,
    /// The product, by the id that the seller gave it.
    pub product_id: Option<ReceivedText>,
}

/// Whether the customer forwarded a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarded {
    /// The customer wrote it.
    #[default]
    No,
    /// The customer forwarded it.
    Once,
    /// It was forwarded more than five times.
    Many,
}

words!(
    /// The names.
    Forwarded { No: "NO", Once: "ONCE", Many: "MANY" }
);

/// What the provider could not pass on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// The provider's code.
    pub code: Option<i64>,
    /// The provider's words for it.
    pub title: Option<ReceivedText>,
    /// More words.
    pub details: Option<ReceivedText>,
}

impl fmt::Debug for Referral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[Referral]")
    }
}
