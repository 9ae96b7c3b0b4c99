//! Messages: a message takes its conversation's next number, in one transaction with everything that it
//! changes.

mod attached_field;
mod corrections;
pub(crate) mod lane;
pub(crate) mod page;
pub(crate) mod provider_ids;
pub(crate) mod receive;
mod received_field;
pub(crate) mod received_ids;
mod reports;
pub(crate) mod row;
mod summary;
pub(crate) mod template_read;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::message::Draft;
use domain::{
    Conversation, ConversationId, LaneId, Lines, Media, Message, MessageId, Template, TemplateId, Timestamp,
    WorkspaceId,
};
use futures::future::try_join;

use crate::conversations::plan::conversation_writes;
use crate::conversations::row::conversation;
use crate::dynamodb::item::{Item, key, n, read, s};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transaction, Write};
use crate::idempotency::{keep_answer, once_place, stored_answer, take_answer};
use crate::lanes::counts::count;
use crate::lanes::row::LaneRow;
use crate::media::{first_reference, media_place, take_media};
use crate::messages::row::{entry_item, message, message_item};
use crate::settings::templates::{take_templates, template_places};
use crate::{IdempotencyKey, Store, StoreError, StoredAnswer, Table, keys};

/// How often the transaction is tried with the lane that the refusal returned, without reading anything else
/// again.
const TRIES: usize = 2;

/// A new message, and what it changes.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    /// The message. Its number is one more than [`Store::last_seq`].
    pub message: &'a Message,
    /// The files to which no message referred before, each with its actual size in bytes; up to
    /// [`Message::MAX_MEDIA`].
    pub first_references: &'a [(Media, u64)],
    /// The conversation as it was read and as the message changes it, if it does.
    pub conversation: Option<(&'a Conversation, &'a Conversation)>,
    /// The request's idempotency key, if it has one, and the answer to store.
    pub kept: Option<(&'a IdempotencyKey, &'a str)>,
}

/// The result of storing a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageStored {
    /// The message is stored, and will be sent if it is a broadcast.
    Done,
    /// The message is not stored, because the idempotency key has an answer already.
    Answered(StoredAnswer),
    /// The message is not stored, because the conversation or a file changed since it was read, or other
    /// messages keep taking the next number.
    Stale,
}

/// What decides about a new message, as it was read.
#[derive(Clone, Debug)]
pub struct DraftRead {
    /// The stored answer of the request's idempotency key.
    pub answered: Option<StoredAnswer>,
    /// The conversation that receives the message.
    pub conversation: Option<Conversation>,
    /// The last number that a message of the conversation took; 0 if there is none.
    pub last_seq: u64,
    /// The message that the draft answers.
    pub replied: Option<Message>,
    /// The files of the draft that exist, in their order.
    pub media: Vec<Media>,
}

/// What decides about a new message that is a template, as it was read.
#[derive(Clone, Debug)]
pub struct TemplateDraftRead {
    /// What decides about every message.
    pub draft: DraftRead,
    /// The template, if the workspace may use it.
    pub template: Option<Template>,
    /// The lines of the workspace.
    pub lines: Lines,
}

impl Store {
    /// Everything that decides about a new message (strongly consistent reads). One round trip of one call.
    pub async fn draft_read(
        &self,
        workspace: WorkspaceId,
        draft: &Draft,
        once: Option<&IdempotencyKey>,
    ) -> Result<DraftRead, StoreError> {
        Ok(self.draft_and_templates(workspace, draft, &[], once).await?.0)
    }

    /// The same for a draft that is a template: its media are the files that its values name. Two calls in one round trip.
    pub async fn template_draft_read(
        &self,
        workspace: WorkspaceId,
        draft: &Draft,
        template: TemplateId,
        once: Option<&IdempotencyKey>,
    ) -> Result<TemplateDraftRead, StoreError> {
        let ids = [template];
        let rows = self.draft_and_templates(workspace, draft, &ids, once);
        let ((draft, mut templates), lines) = try_join(rows, self.lines(workspace)).await?;
        Ok(TemplateDraftRead { draft, template: templates.remove(&template), lines })
    }

    async fn draft_and_templates(
        &self,
        workspace: WorkspaceId,
        draft: &Draft,
        templates: &[TemplateId],
        once: Option<&IdempotencyKey>,
    ) -> Result<(DraftRead, BTreeMap<TemplateId, Template>), StoreError> {
        let id = draft.conversation;
        let of_conversation = Place::of(Table::Conversations, keys::conversation(workspace, id));
        let of_lane = Place::of(Table::Messages, keys::conversation_lane(workspace, id));
        let of_answer = once.map(|once| once_place(Table::Messages, workspace, once));
        let of_replied =
            draft.reply_to.map(|to| Place::of(Table::Messages, keys::message(workspace, id, to)));
        let of_media: Vec<Place> = draft.media.iter().map(|media| media_place(workspace, *media)).collect();
        let of_templates = template_places(workspace, templates);
        let places = [&of_conversation, &of_lane].into_iter().chain(&of_answer).chain(&of_replied);
        let mut rows = self.rows_at(places.chain(&of_media).chain(&of_templates)).await?;
        let answered = of_answer.map(|place| take_answer(&mut rows, &place)).transpose()?.flatten();
        let replied = of_replied.and_then(|place| rows.take(&place));
        let templates = take_templates(&mut rows, &of_templates)?;
        let draft = DraftRead {
            answered,
            conversation: rows.take(&of_conversation).map(conversation).transpose()?,
            last_seq: rows.read::<LaneRow>(&of_lane)?.map_or(0, |lane| lane.seq),
            replied: replied.map(message).transpose()?,
            media: take_media(&mut rows, &of_media)?,
        };
        Ok((draft, templates))
    }

    /// A message of this conversation (strongly consistent read). One round trip.
    pub async fn message(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        id: MessageId,
    ) -> Result<Option<Message>, StoreError> {
        let item = self.get_item(Table::Messages, keys::message(workspace, conversation, id)).await?;
        item.map(message).transpose()
    }

    /// The messages of a conversation before one of this moment and number, newest first, at most `limit`, for operators
    /// (strongly consistent read). The call reads all messages of the conversation, because their rows are in no order: one
    /// round trip for each megabyte. It keeps no more than a page in memory.
    pub async fn messages_before(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        before: Option<(Timestamp, u64)>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let query = query_messages(workspace, conversation);
        let place = |message: &Message| (message.created_at, message.seq);
        let (mut newest, mut page) = (vec![], self.query(query.clone()).await?);
        loop {
            for item in page.items {
                newest.push(message(item)?);
            }
            newest.retain(|message| before.is_none_or(|before| place(message) < before));
            newest.sort_by_key(|message| std::cmp::Reverse(place(message)));
            newest.truncate(limit);
            if page.next.is_none() {
                return Ok(newest);
            }
            page = self.query(query.clone().after(page.next)).await?;
        }
    }

    /// The last number that a message of the conversation took (strongly consistent read); 0 if there is
    /// none, or no such conversation. One round trip.
    pub async fn last_seq(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
    ) -> Result<u64, StoreError> {
        let lane: Option<LaneRow> =
            self.get_row(Table::Messages, keys::conversation_lane(workspace, conversation)).await?;
        Ok(lane.map_or(0, |lane| lane.seq))
    }

    /// Stores a message in its conversation, with everything that it changes, all or nothing. If the message
    /// is to be sent and no visitor has come to the lane by then, the sweeper queues it after `first_due`.
    /// One round trip; a second if another message took its number.
    ///
    /// A message's id is unique: if there is a message with this id, an earlier attempt stored it.
    pub async fn store_message(
        &self,
        new: &NewMessage<'_>,
        first_due: Duration,
        request_id: &str,
    ) -> Result<MessageStored, StoreError> {
        let mut message = new.message.clone();
        let mut found_lane = None;
        for _ in 0..TRIES {
            let writes = message_writes(
                &message,
                new,
                found_lane.as_ref(),
                first_due,
                self.retention.messages,
                request_id,
                self.now(),
            )?;
            let Err(refusals) = self.transact(writes).await? else { return Ok(MessageStored::Done) };
            // The writes are in the order in which their refusals decide.
            let Some(Refusal { role, found }) = refusals.into_iter().next() else { break };
            match (role, found) {
                (Role::Message, _) => return Ok(MessageStored::Done),
                (Role::Answer, Some(found)) => return Ok(MessageStored::Answered(stored_answer(found)?)),
                (Role::Lane, Some(found)) => {
                    let lane: LaneRow = read(found)?;
                    message.seq = lane.seq + 1;
                    // Otherwise the list would show it before a message that was stored before it, if clocks differ.
                    let last = lane.last_at.map(Timestamp::from_millis);
                    message.created_at = last.map_or(message.created_at, |last| last.max(message.created_at));
                    found_lane = Some(lane);
                }
                // Without a lane, the conversation was erased since it was read.
                (Role::Answer | Role::Changes | Role::Lane, _) => return Ok(MessageStored::Stale),
            }
        }
        Ok(MessageStored::Stale)
    }
}

/// A query of all messages of a conversation, in no order.
pub(crate) fn query_messages(workspace: WorkspaceId, conversation: ConversationId) -> Query {
    Query::of(Table::Messages, keys::messages(workspace, conversation)).begins_with(keys::MESSAGES)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Writes the message itself.
    Message,
    /// Stores the answer of the idempotency key.
    Answer,
    /// Keeps a file, or changes the conversation; refused if it was changed since it was read.
    Changes,
    /// Takes the number. If only this write is refused, all others could have been written.
    Lane,
}

/// The writes of a new message, in the order in which their refusals decide.
fn message_writes(
    message: &Message,
    new: &NewMessage<'_>,
    lane: Option<&LaneRow>,
    first_due: Duration,
    kept: Option<Duration>,
    request_id: &str,
    now: Timestamp,
) -> Result<Transaction<Role>, StoreError> {
    let put = Write::put(Table::Messages, message_item(message, kept, request_id)?).when_absent();
    let mut writes = Transaction::new().with(Role::Message, put);
    if let Some((once, answer)) = new.kept {
        let workspace = message.workspace_id;
        writes.add(Role::Answer, keep_answer(Table::Messages, workspace, once, answer, now)?);
    }
    for (media, size) in new.first_references {
        writes.add(Role::Changes, first_reference(media, *size, message, kept, now));
    }
    if let Some((old, new)) = new.conversation {
        writes.add_all(|_| Role::Changes, conversation_writes(old, new, request_id)?);
    }
    writes.add(Role::Lane, take_number(message, lane, now.plus(first_due), request_id));
    if message.is_broadcast() {
        writes.add(Role::Lane, Write::put(Table::Messages, entry_item(message, kept, request_id)?));
    }
    Ok(writes)
}

/// Takes the message's number, if it is still the next, and counts the message. `lane` is the lane that a
/// refusal returned. If the message is to be sent, the lane is due at `due_at`, unless it is due already:
/// then the message is sent after the work for which it is due.
pub(crate) fn take_number(
    message: &Message,
    lane: Option<&LaneRow>,
    due_at: Timestamp,
    request_id: &str,
) -> Write {
    let mut change = RowUpdate::default()
        .set("seq", n(message.seq))
        .set(LAST_REQUEST, s(request_id))
        .when("#seq = :seen")
        .bind(":seen", n(message.seq - 1));
    if message.is_broadcast() {
        let lane = LaneId::Conversation(message.workspace_id, message.conversation);
        change = change
            .set_if_absent("dueShard", s(keys::due_shard(&lane)))
            .set_if_absent("dueAt", n(due_at.as_millis()))
            .add("mark", n(1));
    }
    count(change, message, lane).of(Table::Messages, lane_key(message))
}

fn lane_key(message: &Message) -> Item {
    key(keys::conversation_lane(message.workspace_id, message.conversation))
}

#[cfg(test)]
mod tests {
    use domain::conversation::ContactRef;
    use domain::media::{FileName, MediaState};
    use domain::{
        BrandId, ChannelId, ContactId, ConversationStatus, External, FileType, Internal, MediaDigest,
        MediaId, MessageBody, UserId, UserRef,
    };
    use uuid::Uuid;

    use super::*;

    /// DynamoDB's limit on a transaction.
    const MOST_ACTIONS: usize = 100;

    fn uuid(n: usize) -> Uuid {
        Uuid::from_u128(n as u128)
    }

    fn at() -> Timestamp {
        Timestamp::from_millis(1_767_323_045_678)
    }

    fn conversation(externals: usize, internals: usize) -> Conversation {
        let external = |at_: usize| External {
            contact: ContactId::from_uuid(uuid(at_)),
            shown: ContactRef::Id(ContactId::from_uuid(uuid(at_))),
            channel: ChannelId::parse("line").unwrap(),
            brand: BrandId::parse("brand").unwrap(),
            joined_at: at(),
            last_seen_at: None,
        };
        let internal = |at_: usize| Internal {
            user: UserId::from_uuid(uuid(at_)),
            shown: UserRef::Id(UserId::from_uuid(uuid(at_))),
            joined_at: at(),
            last_seen_at: None,
        };
        Conversation {
            status: ConversationStatus::Ghost,
            externals: (100..100 + externals).map(external).collect(),
            internals: (200..200 + internals).map(internal).collect(),
            ..Conversation::blank(ConversationId::from_uuid(uuid(1)), WorkspaceId::from_uuid(uuid(2)), at())
        }
    }

    fn file(n: usize) -> Media {
        Media {
            id: MediaId::from_uuid(uuid(n)),
            workspace_id: WorkspaceId::from_uuid(uuid(2)),
            file_type: FileType::Image,
            content_type: "image/png".to_owned(),
            name: FileName::parse("a.png").unwrap(),
            digest: MediaDigest::parse("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=").unwrap(),
            size: None,
            created_at: at(),
            state: MediaState::Waiting,
            expires_at: Some(at()),
        }
    }

    /// The number of rows that a message writes.
    fn writes(conversation: &Conversation, files: usize, broadcast: bool, ghost: bool, key: bool) -> usize {
        let files: Vec<(Media, u64)> = (300..300 + files).map(|n| (file(n), 1)).collect();
        let draft = Draft {
            conversation: conversation.id,
            body: MessageBody::parse("hello").ok(),
            media: files.iter().map(|(media, _)| media.id).collect(),
            broadcast,
            reply_to: None,
        };
        let attached = files.iter().map(|(media, size)| media.attached(*size)).collect();
        let message = draft.message(MessageId::from_uuid(uuid(3)), conversation, 1, attached, at());
        let active = conversation.at_interaction(at()).filter(|_| ghost);
        let once =
            IdempotencyKey { route: "messages", key_sha256_hex: "k".to_owned(), fingerprint: "f".to_owned() };
        let new = NewMessage {
            message: &message,
            first_references: &files,
            conversation: active.as_ref().map(|active| (conversation, active)),
            kept: key.then_some((&once, "answer")),
        };
        message_writes(&message, &new, None, Duration::ZERO, None, "r", at()).unwrap().len()
    }

    #[test]
    fn the_most_writes_of_a_message_fit_into_a_transaction() {
        let (externals, internals) = (Conversation::MAX_EXTERNALS, Conversation::MAX_INTERNALS);
        let rows = [
            // The message and the lane.
            ("an internal note", conversation(1, 0), 0, false, false, false, 2),
            // And the entry.
            ("a text", conversation(externals, internals), 0, true, false, false, 3),
            ("under a key", conversation(1, 0), 0, true, false, true, 4),
            ("with files", conversation(1, 0), Message::MAX_MEDIA, true, false, false, 13),
            // The home row, the list of all conversations, and that of the contact.
            ("into a ghost", conversation(1, 0), 0, true, true, false, 6),
            ("all of it", conversation(externals, internals), Message::MAX_MEDIA, true, true, true, 46),
        ];
        for (what, conversation, files, broadcast, ghost, key, expected) in rows {
            let found = writes(&conversation, files, broadcast, ghost, key);
            assert_eq!(found, expected, "{what}");
            assert!(found <= MOST_ACTIONS, "{what}");
        }
    }
}
