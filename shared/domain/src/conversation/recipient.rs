//! To whom a message goes.

use crate::ids::{ChannelId, ContactId};

/// A customer to whom a message goes, and by which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The contact; the number is looked up when the message is sent.
    pub contact: ContactId,
    /// The line.
    pub channel: ChannelId,
}
