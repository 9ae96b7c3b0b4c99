//! Which events are redacted when a person is erased.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{ConversationId, Person, Timestamp, WorkspaceId};
use serde_json::Value;
use store::{EventAbout, Store, StoreError};
use uuid::Uuid;

/// If a subject is erased as a whole, all its events are redacted, also those that the relay records later.
const ALWAYS: Timestamp = Timestamp::from_millis(9_999_999_999_999);
/// If a conversation stays, its events up to the moment of the request are redacted. The first event after it is not.
pub const AFTER: Duration = Duration::from_millis(1);

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A contact or a lead.
    Own(Uuid),
    /// A conversation and its messages.
    Conversation(ConversationId),
}

impl Subject {
    /// The id.
    pub fn id(&self) -> &Uuid {
        match self {
            Self::Own(id) => id,
            Self::Conversation(id) => id.as_uuid(),
        }
    }

    /// The moment before which the events of this subject are redacted.
    pub async fn events_before(
        self,
        store: &Store,
        workspace: WorkspaceId,
        person: &Person,
        asked_at: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        let Self::Conversation(id) = self else { return Ok(ALWAYS) };
        let stays = store.conversation(workspace, id).await?;
        let stays = stays.is_some_and(|conversation| !person.is_alone_in(&conversation));
        Ok(if stays { asked_at.plus(AFTER) } else { ALWAYS })
    }

    /// The events about this subject that are redacted. In a conversation with others, the events of the others' messages
    /// stay.
    pub async fn to_redact(
        self,
        about: Vec<EventAbout>,
        store: &Store,
        workspace: WorkspaceId,
        person: &Person,
        asked_at: Timestamp,
    ) -> Result<Vec<EventAbout>, StoreError> {
        let before = self.events_before(store, workspace, person, asked_at).await?;
        let Self::Conversation(id) = self else { return Ok(about) };
        if before == ALWAYS {
            return Ok(about);
        }
        let messages = store.whole_conversation(workspace, id).await?.messages;
        let others = messages.iter().filter(|message| !person.has_message(message, asked_at));
        let others: BTreeSet<String> = others.map(|message| message.id.to_string()).collect();
        // An event of a message is decided by the message, because the erasure deletes messages one by one. Other events show
        // the conversation with its participants, so they are decided by their moment.
        let is_redacted = |about: &EventAbout| match message_of(&about.body) {
            Some(message) => !others.contains(&message),
            None => about.event.at < before,
        };
        Ok(about.into_iter().filter(is_redacted).collect())
    }
}

/// The id of the message that an event's body shows, if it shows one.
fn message_of(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body["payload"].get("parts")?;
    body["payload"]["id"].as_str().map(str::to_owned)
}
