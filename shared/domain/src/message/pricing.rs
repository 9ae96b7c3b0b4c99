//! What the provider charges for a part, in its words.

use std::cmp::Ordering;

use crate::invisible::is_blank;
use crate::text::printable;
use crate::words::words;

/// What the provider charges for a part. The order of the fields decides which of two that contradict each other holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pricing {
    /// Whether the part is charged.
    pub billable: Option<bool>,
    /// The category by which it is charged, such as `marketing` or `service`.
    pub category: Option<PricingWord>,
    /// Why it is charged or not, such as `regular` or `free_customer_service`.
    pub kind: Option<PricingWord>,
}

/// A pricing of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priced {
    /// The status that said it.
    pub by: PricedBy,
    /// The pricing.
    pub pricing: Pricing,
}

/// The status of the provider whose pricing a part shows. A later variant replaces the pricing of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PricedBy {
    /// `sent`.
    Sent,
    /// `delivered`.
    Delivered,
    /// `read`.
    Read,
}

/// A word of the provider about a price: up to 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricingWord(String);

impl PricingWord {
    /// The greatest number of characters.
    pub const MAX: usize = 64;

    /// The word, cut to [`PricingWord::MAX`] characters of printable text. `None` if nothing is left.
    pub fn cut(word: &str) -> Option<Self> {
        let word: String = printable(word).trim().chars().take(Self::MAX).collect();
        (!is_blank(&word)).then_some(Self(word))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Pricing {
    /// The pricing of these fields. `None` if none says anything.
    pub fn of(billable: Option<bool>, category: Option<&str>, kind: Option<&str>) -> Option<Self> {
        let [category, kind] = [category, kind].map(|word| word.and_then(PricingWord::cut));
        let is_any = billable.is_some() || category.is_some() || kind.is_some();
        is_any.then_some(Self { billable, category, kind })
    }
}

impl Priced {
    /// What a part shows of two pricings: that of the more advanced status. Of two of the same status the lesser holds, so that the
    /// order in which they come does not matter.
    pub(super) fn or(self, other: Self) -> Self {
        match self.by.cmp(&other.by) {
            Ordering::Greater => self,
            Ordering::Less => other,
            Ordering::Equal if other.pricing < self.pricing => other,
            Ordering::Equal => self,
        }
    }
}

words!(
    /// The provider's names of the statuses.
    PricedBy {
        Sent: "sent",
        Delivered: "delivered",
        Read: "read",
    }
);
