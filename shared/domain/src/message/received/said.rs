//! What a customer can say without a file. Every text is cut to a limit, because a customer's message cannot be
//! refused.

use std::fmt;

use super::Raw;
use crate::time::Timestamp;
use crate::words::words;

/// A text of a customer, which was cut to a limit. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ReceivedText(String);

impl ReceivedText {
    /// The greatest number of characters in any text of a message.
    pub const MAX: usize = 4_096;
    /// The greatest number of characters in a title, a description, an address or a payload.
    pub const MAX_LABEL: usize = 1_024;
    /// The greatest number of characters in a name, a number, an e-mail address or an emoji.
    pub const MAX_NAME: usize = 256;

    /// The first characters of a text, at most `most`.
    /// Control characters other than a new line and a tab are left out.
    pub fn cut(text: &str, most: usize) -> Self {
        let is_kept = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
        Self(text.chars().filter(is_kept).take(most).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn characters(&self) -> usize {
        self.0.chars().count()
    }
}

/// What a customer said. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub enum Said {
    /// A text, up to [`ReceivedText::MAX`] characters.
    Text(ReceivedText),
    /// A place.
    Location(Location),
    /// Cards of people.
    Contacts(Vec<Card>),
    /// The reply to a button of a template.
    ButtonReply {
        /// The text on the button.
        text: ReceivedText,
        /// The payload that the template gave the button.
        payload: Option<ReceivedText>,
    },
    /// The reply to a button or a list of an interactive message.
    InteractiveReply {
        /// What the customer chose from.
        kind: ChoiceKind,
        /// The id of the choice.
        id: ReceivedText,
        /// The title of the choice.
        title: ReceivedText,
        /// The description of the choice.
        description: Option<ReceivedText>,
    },
    /// The answer of a Flow.
    FlowReply {
        /// The provider's word for the kind of the answer.
        name: Option<ReceivedText>,
        /// The text that the customer sees.
        text: Option<ReceivedText>,
        /// The token that the Flow was sent with.
        flow_token: Option<ReceivedText>,
        /// What the customer entered: a JSON object.
        response: Option<Raw>,
    },
    /// Whether the business may call the customer.
    CallPermissionReply {
        /// The provider's word for the choice, such as `accept`.
        response: ReceivedText,
        /// Whether the permission has no end.
        permanent: Option<bool>,
        /// When the permission ends.
        expires_at: Option<Timestamp>,
        /// How the customer chose.
        source: Option<ReceivedText>,
    },
    /// An order of products.
    Order(Order),
    /// Any other kind, with the provider's word for it. The word may be empty.
    Unsupported(ReceivedText),
}

/// What a customer chose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceKind {
    /// Buttons.
    Button,
    /// A list.
    List,
}

words!(
    /// The names.
    ChoiceKind { Button: "BUTTON", List: "LIST" }
);

/// An order of products.
#[derive(Clone, PartialEq, Eq)]
pub struct Order {
    /// The catalogue.
    pub catalog_id: Option<ReceivedText>,
    /// What the customer wrote below the order.
    pub text: Option<ReceivedText>,
    /// The products, at most [`Order::MAX_ITEMS`].
    pub items: Vec<OrderItem>,
}

impl Order {
    /// The greatest number of products.
    pub const MAX_ITEMS: usize = 100;
}

/// A product of an order.
#[derive(Clone, PartialEq, Eq)]
pub struct OrderItem {
    /// The product, by the id that the seller gave it.
    pub product_id: Option<ReceivedText>,
    /// A number as JSON writes it.
    pub quantity: Option<ReceivedText>,
    /// The price of one, a number as JSON writes it.
    pub price: Option<ReceivedText>,
    /// The currency.
    pub currency: Option<ReceivedText>,
}

/// A place.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    /// North of the equator.
    pub latitude: Degrees,
    /// East of Greenwich.
    pub longitude: Degrees,
    /// The name of the place.
    pub name: Option<ReceivedText>,
    /// The address of the place.
    pub address: Option<ReceivedText>,
    /// A page about the place.
    pub url: Option<ReceivedText>,
}

/// An angle of -180 to 180 degrees, rounded to seven decimals, which is a centimetre on the ground.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Degrees(i32);

/// A person's card.
#[derive(Clone, PartialEq, Eq)]
pub struct Card {
    /// The whole name.
    pub name: Option<ReceivedText>,
    /// Phone numbers, as the card gives them.
    pub phones: Vec<ReceivedText>,
    /// E-mail addresses.
    pub emails: Vec<ReceivedText>,
}

impl Said {
    /// The greatest number of cards.
    pub const MAX_CARDS: usize = 100;
    /// The greatest number of phone numbers in a card, and of e-mail addresses.
    pub const MAX_IN_CARD: usize = 20;
    /// The greatest number of characters in all cards together.
    pub const MAX_IN_CARDS: usize = 16_000;

    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Text(ReceivedText::cut(text, ReceivedText::MAX))
    }

    /// Cards of people. What exceeds the limits is left out, the last cards first.
    pub fn contacts(cards: impl IntoIterator<Item = Card>) -> Self {
        let mut left = Self::MAX_IN_CARDS;
        let mut kept = vec![];
        for mut card in cards.into_iter().take(Self::MAX_CARDS) {
            card.phones.truncate(Self::MAX_IN_CARD);
            card.emails.truncate(Self::MAX_IN_CARD);
            let texts = card.name.iter().chain(&card.phones).chain(&card.emails);
            let Some(rest) = left.checked_sub(texts.map(ReceivedText::characters).sum()) else { break };
            left = rest;
            kept.push(card);
        }
        Self::Contacts(kept)
    }

    /// A kind of message that the service does not know.
    pub fn unsupported(kind: &str) -> Self {
        Self::Unsupported(ReceivedText::cut(kind, ReceivedText::MAX_NAME))
    }
}

impl Degrees {
    const IN_A_DEGREE: f64 = 1e7;

    /// An angle in degrees; `None` outside -180 to 180.
    pub fn of(degrees: f64) -> Option<Self> {
        let fits = (-180.0..=180.0).contains(&degrees);
        #[expect(clippy::cast_possible_truncation, reason = "180 * 1e7 fits")]
        fits.then(|| Self((degrees * Self::IN_A_DEGREE).round() as i32))
    }

    /// The angle in ten-millionths of a degree, which a row stores.
    pub fn stored(self) -> i32 {
        self.0
    }

    /// The angle that a row stored.
    pub fn restored(stored: i32) -> Self {
        Self(stored)
    }

    /// The angle in degrees.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / Self::IN_A_DEGREE
    }
}

macro_rules! redacted {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!("[", stringify!($name), "]"))
            }
        }
    )*};
}

redacted! { ReceivedText Said Location Degrees Card Order OrderItem }
