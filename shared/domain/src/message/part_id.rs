//! The id of a part, as it travels to the provider and back.

use std::fmt;

use crate::ids::{ConversationId, MessageId};

/// The id of a part within its workspace. Each send carries it (`<conversation>.<message>.<part>`), and the
/// provider repeats it in each status of the send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartId {
    /// The conversation.
    pub conversation: ConversationId,
    /// The message.
    pub message: MessageId,
    /// The position in the message's parts, from 0.
    pub part: usize,
}

impl PartId {
    /// Parses the printed form. `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (conversation, rest) = text.split_once('.')?;
        let (message, part) = rest.split_once('.')?;
        let id = Self {
            conversation: ConversationId::parse(conversation).ok()?,
            message: MessageId::parse(message).ok()?,
            part: part.parse().ok()?,
        };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { conversation, message, part } = self;
        write!(f, "{conversation}.{message}.{part}")
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_printed_id_parses_and_every_other_text_does_not() {
        let id = PartId {
            conversation: ConversationId::from_uuid(Uuid::from_u128(0xa)),
            message: MessageId::from_uuid(Uuid::from_u128(0xb)),
            part: 12,
        };
        let text = "00000000-0000-0000-0000-00000000000a.00000000-0000-0000-0000-00000000000b.12";
        assert_eq!((id.to_string().as_str(), PartId::parse(text)), (text, Some(id)));
        let rows = [
            String::new(),
            text.replace(".12", ""),
            text.replace(".12", "."),
            text.replace(".12", ".+12"),
            text.replace(".12", ".012"),
            text.replace(".12", ".-1"),
            text.replace(".12", ".12.0"),
            text.replace(".12", ".99999999999999999999999"),
            text.replace("0a.", "0A."),
            text.replace("0a.", "0a#"),
            format!(" {text}"),
        ];
        for other in rows {
            assert_eq!(PartId::parse(&other), None, "{other}");
        }
    }
}
