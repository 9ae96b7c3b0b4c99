//! The recipient of a message.

use crate::ids::{ChannelId, ContactId};

/// A customer who receives a message, and the line that sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The contact. The sender looks up the number when it sends the message.
    pub contact: ContactId,
    /// The line that sends the message.
    pub channel: ChannelId,
}
