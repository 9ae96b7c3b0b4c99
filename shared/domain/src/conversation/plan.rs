//! The templates that open a conversation, until they have become messages.

use crate::conversation::recipient::Recipient;
use crate::ids::{ConversationId, WorkspaceId};
use crate::settings::template::Requested;
use crate::time::Timestamp;

/// The templates to be sent into a conversation, in order, to those who took part when it was made. An item of its
/// own: the sender makes messages of it one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnboardingPlan {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// To whom each template goes.
    pub recipients: Vec<Recipient>,
    /// What is sent, in order; the number of a step is its message's number in the conversation, from 1.
    pub steps: Vec<Requested>,
    /// How many of the steps have become messages.
    pub done: usize,
    /// When the conversation was made.
    pub created_at: Timestamp,
}
