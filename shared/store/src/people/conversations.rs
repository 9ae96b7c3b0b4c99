//! The conversations of a person: found, read whole, and erased.

use std::collections::BTreeSet;

use domain::message::Content;
use domain::{ContactId, Conversation, ConversationId, Message, MessageId, OnboardingPlan, WorkspaceId};

use crate::conversations::plan::conversation_writes;
use crate::conversations::row::{ANSWER_PK, conversation, lists};
use crate::dynamodb::item::{Item, SK, key, key_of, n, read, s, text};
use crate::dynamodb::read::Query;
use crate::dynamodb::write::Write;
use crate::lanes::row::plan as plan_of;
use crate::messages::row::{EntryRow, message};
use crate::{Store, StoreError, StoredAnswer, Table, keys};

/// A conversation with everything that is in it.
#[derive(Clone, Debug)]
pub struct PersonConversation {
    /// The conversation; `None` if it was erased.
    pub conversation: Option<Conversation>,
    /// The partition of the stored answer to the request that made it, and the answer, if it is kept.
    pub answer: Option<(String, StoredAnswer)>,
    /// The messages.
    pub messages: Vec<Message>,
    /// The onboarding plan, if steps are left.
    pub plan: Option<OnboardingPlan>,
    rows: Vec<Item>,
}

/// Which messages of a conversation to erase.
#[derive(Clone, Copy, Debug)]
pub enum ErasedMessages<'a> {
    /// All, with the conversation's lane.
    All,
    /// These, and the plan if it is addressed to one of these contacts.
    Only(&'a BTreeSet<MessageId>, &'a BTreeSet<ContactId>),
}

impl Store {
    /// The conversations in which a contact takes part or took part (strongly consistent reads). Two round
    /// trips; more for each megabyte.
    pub async fn conversations_with(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<BTreeSet<ConversationId>, StoreError> {
        let mut found = BTreeSet::new();
        let present = keys::conversations_of_contact(workspace, contact);
        for item in self.query_all(Query::of(Table::Conversations, present).with_expired()).await? {
            found.insert(conversation(item)?.id);
        }
        let left = keys::conversations_left_by(workspace, contact);
        for item in self.query_all(Query::of(Table::Conversations, left).with_expired()).await? {
            found.extend(ConversationId::parse(text(&item, SK)).ok());
        }
        Ok(found)
    }

    /// A conversation with everything that is in it (strongly consistent reads). Two round trips, and one for
    /// a stored answer; more for each megabyte of messages.
    pub async fn whole_conversation(
        &self,
        workspace: WorkspaceId,
        id: ConversationId,
    ) -> Result<PersonConversation, StoreError> {
        let home = self.get_item(Table::Conversations, keys::conversation(workspace, id)).await?;
        let answer = match home.as_ref().map(|home| text(home, ANSWER_PK)).filter(|pk| !pk.is_empty()) {
            Some(pk) => self.answer_at(pk, id).await?.map(|answer| (pk.to_owned(), answer)),
            None => None,
        };
        let rows =
            self.query_all(Query::of(Table::Messages, keys::messages(workspace, id)).with_expired()).await?;
        let (mut messages, mut plan) = (vec![], None);
        for row in &rows {
            match text(row, SK) {
                sk if sk.starts_with(keys::MESSAGES) => messages.push(message(row.clone())?),
                keys::PLAN => plan = Some(plan_of(row.clone(), workspace, id)?),
                _ => {}
            }
        }
        messages.sort_by_key(|message| message.seq);
        Ok(PersonConversation {
            conversation: home.map(conversation).transpose()?,
            answer,
            messages,
            plan,
            rows,
        })
    }

    /// The stored answer in this partition, if it is the answer about this conversation. After a day, another
    /// request may use the same key.
    async fn answer_at(&self, pk: &str, id: ConversationId) -> Result<Option<StoredAnswer>, StoreError> {
        let found = self.get_item(Table::Conversations, (pk.to_owned(), "R")).await?;
        let answer = found.map(crate::idempotency::stored_answer).transpose()?;
        Ok(answer.filter(|answer| answer.answer.contains(&id.to_string())))
    }

    /// Deletes messages of a conversation with their entries and the rows of the provider's ids: first what sends
    /// and finds them, then they themselves. One round trip for each row.
    pub async fn erase_messages(
        &self,
        of: &PersonConversation,
        which: ErasedMessages<'_>,
    ) -> Result<(), StoreError> {
        let goes = |row: &Item| -> Result<bool, StoreError> {
            let ErasedMessages::Only(messages, contacts) = which else { return Ok(true) };
            Ok(match text(row, SK) {
                keys::PLAN => of.plan.as_ref().is_some_and(|plan| {
                    plan.recipients.iter().any(|recipient| contacts.contains(&recipient.contact))
                }),
                sk if keys::read_open_entry(sk).is_some() => {
                    messages.contains(&read::<EntryRow>(row.clone())?.message_id)
                }
                sk => sk
                    .strip_prefix(keys::MESSAGES)
                    .and_then(|id| MessageId::parse(id).ok())
                    .is_some_and(|id| messages.contains(&id)),
            })
        };
        let mut rows = vec![];
        for row in &of.rows {
            if goes(row)? {
                rows.push(row);
            }
        }
        rows.sort_by_key(|row| text(row, SK).starts_with(keys::MESSAGES));
        for row in &rows {
            if text(row, SK).starts_with(keys::MESSAGES) {
                let message = message((*row).clone())?;
                for id in message.parts.iter().filter_map(|part| part.provider_message_id.as_deref()) {
                    self.drop_provider_id(message.workspace_id, id).await?;
                }
            }
        }
        for row in rows {
            if text(row, SK).starts_with(keys::MESSAGES)
                && let Message { workspace_id, content: Content::Received(received), .. } =
                    message(row.clone())?
            {
                self.shorten_received_id(workspace_id, &received.provider_message_id).await?;
            }
            self.write(Write::delete(Table::Messages, key_of(row))).await?;
        }
        Ok(())
    }

    /// Deletes the stored answer of a conversation's request. One round trip, or none.
    pub async fn erase_answer(&self, of: &PersonConversation) -> Result<(), StoreError> {
        let (Some((pk, _)), Some(conversation)) = (&of.answer, &of.conversation) else { return Ok(()) };
        let delete = Write::delete(Table::Conversations, key((pk, "R")))
            .when("contains(answer, :id)")
            .bind(":id", s(conversation.id.to_string()));
        self.write(delete).await?;
        Ok(())
    }

    /// Deletes a conversation and its copies in lists. Returns `false` if it was changed since it was read.
    /// One round trip.
    pub async fn erase_conversation(&self, seen: &Conversation) -> Result<bool, StoreError> {
        let home = Write::delete(Table::Conversations, key(keys::conversation(seen.workspace_id, seen.id)))
            .when("version = :seen")
            .bind(":seen", n(seen.version));
        let place = keys::newest_first(seen.created_at, seen.id);
        let copies = lists(seen).into_iter();
        let copies = copies.map(|list| Write::delete(Table::Conversations, key((list, &place))));
        self.all_or_none([home].into_iter().chain(copies)).await
    }

    /// Stores a conversation without the erased person. Returns `false` if it was changed since it was read.
    /// One round trip.
    pub async fn leave_conversation(
        &self,
        seen: &Conversation,
        left: &Conversation,
    ) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        Ok(self.transact(conversation_writes(seen, left, &request)?).await?.is_ok())
    }

    /// Deletes the row that names a conversation that a contact left. One round trip.
    pub async fn forget_left(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        conversation: ConversationId,
    ) -> Result<(), StoreError> {
        let row = key((keys::conversations_left_by(workspace, contact), conversation.to_string()));
        self.write(Write::delete(Table::Conversations, row)).await?;
        Ok(())
    }
}
