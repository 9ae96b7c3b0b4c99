use domain::Conversation;
use edge::{ApiError, Reply, view};
use store::LastSeen;

/// The conversation as a response. When its customers were last seen is shown, but it is no part of the tag: a
/// customer who reads a message does not make an `If-Match` fail.
pub(crate) fn shown(conversation: &Conversation, seen: &LastSeen) -> Result<Reply, ApiError> {
    let with_seen = conversation.with_seen(seen);
    Reply::resource(&view::conversation(&with_seen), 0)?.tagged_by(&view::conversation(conversation))
}
