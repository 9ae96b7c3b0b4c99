//! The templates that start a conversation, before they become messages.

use crate::conversation::recipient::Recipient;
use crate::ids::{ConversationId, WorkspaceId};
use crate::settings::template::TemplateContent;
use crate::time::Timestamp;

/// The templates that are sent into a conversation, in order, to the participants at its creation. The plan
/// is an item of its own: the sender turns its steps into messages one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnboardingPlan {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The recipients of each template.
    pub recipients: Vec<Recipient>,
    /// The templates, in order. The number of a step, from 1, is its message's `seq` in the conversation.
    pub steps: Vec<TemplateContent>,
    /// The number of steps that have become messages.
    pub done: usize,
    /// When the conversation was created.
    pub created_at: Timestamp,
}
