//! Customers' messages, and those to customers from the Business app: each is stored exactly once, in one transaction with everything
//! that it changes.
//!
//! ```text
//! { the provider's ids, identity } -> { contact, window, lanes; newest conversations } -> transaction
//! ```
//!
//! The identity row that finds the contact also names the conversation into which its last message went. So the lane of
//! that conversation can be read beside the contact, and not after it.

use domain::choices::Chooser;
use domain::contact::conflict::Conflict;
use domain::message::SentBy;
use domain::message::arrival::{Arrival, Destination};
use domain::message::summary::Tally;
use domain::{
    ChannelId, Contact, ContactId, Conversation, ConversationId, Line, Media, Message, MessageId, Reached,
    Timestamp, WorkspaceId,
};
use futures::future::{try_join, try_join3};

use crate::contacts::conflicts::conflict_write;
use crate::contacts::holder_of;
use crate::contacts::plan::{create_writes, reach_writes, replace_writes};
use crate::contacts::reached::{number_place, user_place};
use crate::contacts::row::contact_in;
use crate::contacts::windows::{WindowRow, window_write};
use crate::conversations::plan::{conversation_writes, first_writes};
use crate::conversations::row::conversation;
use crate::dynamodb::item::{Item, s, text};
use crate::dynamodb::read::{Place, Query, Rows};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{Transaction, TwoRoles, Write, Wrote};
use crate::lanes::row::LaneRow;
use crate::media::first_reference;
use crate::messages::provider_ids::ProviderIdRow;
use crate::messages::received_ids::received_id_item;
use crate::messages::row::message_item;
use crate::messages::take_number;
use crate::{Store, StoreError, Table, keys};

/// The attribute of an identity row that names the conversation into which the contact's last message went.
const LAST_CONVERSATION: &str = "conversationId";
/// The number of a contact's conversations that one call reads.
const PAGE: usize = 25;
/// The greatest number of a contact's conversations that are read for a message, the newest first. If none of them takes
/// it, it opens a new one.
const MOST_CONVERSATIONS: usize = 100;

/// What the provider's ids of a customer's message and of the customer, and the line say.
#[derive(Clone, Debug, Default)]
pub struct InboundIds {
    /// The message, if it is stored already.
    pub stored: Option<(ConversationId, MessageId)>,
    /// Whether the stored message stands for this one, whose content comes only now.
    pub is_placeholder: bool,
    /// The message that it refers to, if the service knows it.
    pub answered: Option<(ConversationId, MessageId)>,
    /// The line; `None` if the workspace does not have it any more.
    pub line: Option<Line>,
    /// The ids of the customer.
    from: Reached,
    /// The row of the number.
    number: Option<Identity>,
    /// The row of the user id.
    user: Option<Identity>,
}

#[derive(Clone, Debug)]
struct Identity {
    place: Place,
    contact: ContactId,
    last_conversation: Option<ConversationId>,
}

/// What a customer's message may go into, as it was read.
#[derive(Clone, Debug)]
pub struct InboundPlace {
    /// The contact, as it was found.
    pub contact: Option<Contact>,
    /// The contact with the customer's number, if it is another one than that with the user id.
    pub rival: Option<Contact>,
    /// Whether the tenant was told of both.
    pub is_told: bool,
    /// Where the message goes.
    pub destination: Destination,
    window: Option<WindowRow>,
    lane: Option<LaneRow>,
    identity: Option<Identity>,
}

/// What storing a customer's message writes.
#[derive(Clone, Debug)]
pub struct NewInbound<'a> {
    /// The contact as it is from now on.
    pub contact: &'a Contact,
    /// The conversation as it is from now on.
    pub conversation: &'a Conversation,
    /// The message.
    pub arrival: &'a Arrival,
    /// The message's file with its size in bytes, if the workspace has it.
    pub file: Option<(&'a Media, u64)>,
    /// What the tenant is told of the contact.
    pub conflict: Option<&'a Conflict>,
}

/// The result of storing a customer's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundStored {
    /// The message is stored.
    Done,
    /// Another delivery of the same message stored it.
    Repeated,
    /// Nothing is stored, because something changed since it was read.
    Stale,
}

/// The conversations of a contact that were read.
struct Newest {
    /// The newest one that takes the message.
    open: Option<Conversation>,
    /// All of them.
    ids: Vec<ConversationId>,
}

impl Store {
    /// What the provider's ids of a customer's message and of the customer, and the line say (strongly consistent
    /// reads). `refers_to` is the provider's id of the message that it answers. One round trip.
    pub async fn inbound_ids(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
        (id, refers_to): (&str, Option<&str>),
        from: &Reached,
    ) -> Result<InboundIds, StoreError> {
        let of_message = |id| Place::of(Table::Messages, keys::provider_message(workspace, id));
        let of_own = of_message(id);
        let of_answered = refers_to.filter(|answered| *answered != id).map(of_message);
        let (of_number, of_user) = (number_place(workspace, from), user_place(workspace, from));
        let of_line = Place::of(Table::Workspaces, keys::line(workspace, channel));
        let places = [&of_own, &of_line].into_iter().chain(&of_answered).chain(&of_number).chain(&of_user);
        let mut rows = self.rows_at(places).await?;
        let message = |row: ProviderIdRow| (row.conversation_id, row.message_id);
        let identity = |place: &Option<Place>| {
            let found = place.as_ref().and_then(|place| Some((place, rows.get(place)?)));
            found.map(Identity::read).transpose()
        };
        let (number, user) = (identity(&of_number)?, identity(&of_user)?);
        let own: Option<ProviderIdRow> = rows.read(&of_own)?;
        Ok(InboundIds {
            from: from.clone(),
            number,
            user,
            line: rows.read(&of_line)?,
            is_placeholder: own.as_ref().is_some_and(|own| own.placeholder),
            stored: own.map(message),
            answered: of_answered.map(|place| rows.read(&place)).transpose()?.flatten().map(message),
        })
    }

    /// What a message of this contact on this line may go into (strongly consistent reads). `None` if the contact was
    /// erased since it was found, or gave up the ids that found it: read the ids again. One round trip for a conversation
    /// that had the contact's last message, and for a new one; otherwise one more.
    pub async fn inbound_place(
        &self,
        workspace: WorkspaceId,
        of: ContactId,
        channel: &ChannelId,
        ids: &InboundIds,
    ) -> Result<Option<InboundPlace>, StoreError> {
        let identity = ids.identity_of(of).cloned();
        let answered = ids.answered.map(|(conversation, _)| conversation);
        let last = identity.as_ref().and_then(|identity| identity.last_conversation);
        let beside = self.beside(workspace, of, channel, answered, last);
        let newest = self.newest_conversation(workspace, of, channel);
        let rival = ids.rival();
        let (Beside { contact, window, answered, mut lanes }, mut newest, (other, is_told)) =
            try_join3(beside, newest, self.rival(workspace, of, rival)).await?;
        // Otherwise the service would remember the customer's ids for a contact that has another number by now.
        let is_reached = |contact: &Contact| contact.is_reached_at(&ids.from);
        let Some(contact) = contact.filter(is_reached) else { return Ok(None) };
        let other = other.filter(is_reached);
        if rival.is_some() && other.is_none() {
            return Ok(None);
        }
        // Another message may have opened a conversation between the two reads.
        if newest.open.is_none()
            && window.as_ref().is_some_and(|row| !newest.ids.contains(&row.conversation_id))
        {
            newest = self.newest_conversation(workspace, of, channel).await?;
        }
        let destination = Destination::of(of, answered, newest.open);
        let lane = match &destination {
            Destination::Into(conversation) => {
                let place = Place::of(Table::Messages, keys::conversation_lane(workspace, conversation.id));
                match lanes.read(&place)? {
                    Some(lane) => Some(lane),
                    None => self.rows_at([&place]).await?.read(&place)?,
                }
            }
            Destination::Blocked(_) | Destination::New => None,
        };
        Ok(Some(InboundPlace {
            contact: Some(contact),
            rival: other,
            is_told,
            destination,
            window,
            lane,
            identity,
        }))
    }

    /// The number of shards in which new conversations are listed. One round trip if it is not in memory.
    pub async fn shards_of_new(&self, workspace: WorkspaceId) -> Result<u8, StoreError> {
        Ok(self.shards(workspace).await?.write)
    }

    /// Stores a message with everything that it changes, all or nothing, and records beside a customer's that the customer was seen. One
    /// from the Business app opens no window. One round trip; one more for a new contact with a number and a user id, for a contact that learns an
    /// id, and if the workspace's shards are not in memory.
    pub async fn store_inbound(
        &self,
        place: &InboundPlace,
        new: &NewInbound<'_>,
    ) -> Result<InboundStored, StoreError> {
        let NewInbound { contact, conversation, arrival, .. } = new;
        let shards = match place.contact {
            Some(_) => 1,
            None => self.shards(contact.workspace_id).await?.write,
        };
        let Some(mut writes) = self.inbound_writes(place, new, shards)? else {
            return Ok(InboundStored::Stale);
        };
        // Each id that the contact did not have may have choices from before.
        let had = place.contact.as_ref().map(Chooser::all_of).unwrap_or_default();
        writes.add_all(|()| TwoRoles::Other, self.joined_choices(contact, &had, &had).await?);
        let is_of_customer = arrival.by == SentBy::Customer;
        let saw = async {
            if is_of_customer {
                self.saw(contact.workspace_id, conversation.id, contact.id, arrival.created_at).await?;
            }
            Ok(())
        };
        let Err(refusals) = try_join(self.transact(writes), saw).await?.0 else {
            return Ok(InboundStored::Done);
        };
        // Only another delivery of the message can have written its rows.
        if refusals.iter().any(|refusal| refusal.role == TwoRoles::Main) {
            return Ok(InboundStored::Repeated);
        }
        // The conversation may be erased, or never be made. The next attempt records it again.
        if is_of_customer {
            self.unsaw(contact.workspace_id, conversation.id, contact.id, arrival.created_at).await?;
        }
        Ok(InboundStored::Stale)
    }

    /// Keeps when the customer wrote a message that a BLOCKED conversation does not take: the provider opens its window
    /// for it all the same. Returns `false` if the window has changed since it was read. One round trip, or none if a
    /// newer message is known.
    pub async fn keep_window(
        &self,
        workspace: WorkspaceId,
        of: ContactId,
        channel: &ChannelId,
        place: &InboundPlace,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let Destination::Blocked(blocked) = place.destination else { return Ok(true) };
        let seen = place.window.as_ref();
        if seen.is_some_and(|seen| seen.last_inbound_at >= at) {
            return Ok(true);
        }
        let conversation = seen.map_or(blocked, |seen| seen.conversation_id);
        let write = window_write((workspace, of, channel), seen, conversation, at)?;
        Ok(matches!(self.write(write).await?, Wrote::Done(_)))
    }

    /// The writes of a message, those of the message itself first. `None` if the conversation has no lane, because it
    /// was erased.
    fn inbound_writes(
        &self,
        place: &InboundPlace,
        NewInbound { contact, conversation, arrival, file, conflict }: &NewInbound<'_>,
        shards: u8,
    ) -> Result<Option<Transaction<TwoRoles>>, StoreError> {
        let (workspace, now, request) = (contact.workspace_id, self.now(), self.ids.next().to_string());
        let seq = match (&place.destination, &place.lane) {
            (Destination::Into(_), None) => return Ok(None),
            (_, lane) => lane.as_ref().map_or(1, |lane| lane.seq + 1),
        };
        let message: Message = arrival.message(conversation, seq, now);
        let (kept, received) = (self.retention.messages, &arrival.received);
        let guard = received_id_item(&message, &received.provider_message_id, kept, now)?;
        let put = Write::put(Table::Messages, message_item(&message, kept, &request)?).when_absent();
        let mut writes = Transaction::new()
            .with(TwoRoles::Main, Write::put(Table::Messages, guard).when_absent())
            .with(TwoRoles::Main, put);
        if let Some((media, size)) = file.filter(|(media, _)| !media.is_referenced()) {
            writes.add(TwoRoles::Other, first_reference(media, size, &message, kept, now));
        }
        match &place.contact {
            None => writes.add_all(|_| TwoRoles::Other, create_writes(contact, shards, &request)?),
            // Ids alone are no new version.
            Some(found) if found != *contact && found.version == contact.version => {
                writes.add_all(|_| TwoRoles::Other, reach_writes(found, contact, now)?);
            }
            Some(found) if found != *contact => {
                writes.add_all(|_| TwoRoles::Other, replace_writes(found, contact, &request)?);
            }
            Some(_) => {}
        }
        if let Some(conflict) = conflict {
            writes.add(TwoRoles::Other, conflict_write(conflict)?);
        }
        match &place.destination {
            Destination::Into(found) => {
                if **found != **conversation {
                    writes.add_all(|_| TwoRoles::Other, conversation_writes(found, conversation, &request)?);
                }
                writes.add(TwoRoles::Other, take_number(&message, place.lane.as_ref(), now, &request));
            }
            Destination::Blocked(_) | Destination::New => {
                let first = first_writes(conversation, seq, Tally::of(&message), None, None, &request)?;
                writes.add_all(|_| TwoRoles::Other, first);
            }
        }
        if arrival.by != SentBy::Customer {
            return Ok(Some(writes));
        }
        let of = (workspace, contact.id, &received.channel);
        let window = window_write(of, place.window.as_ref(), conversation.id, arrival.created_at)?;
        writes.add(TwoRoles::Other, window);
        if let Some(names) = place.identity.as_ref().and_then(|identity| identity.names(conversation.id)) {
            writes.add(TwoRoles::Other, names);
        }
        Ok(Some(writes))
    }

    /// The contact with the number of the customer of another one, and whether the tenant was told of both.
    async fn rival(
        &self,
        workspace: WorkspaceId,
        of: ContactId,
        rival: Option<ContactId>,
    ) -> Result<(Option<Contact>, bool), StoreError> {
        match rival {
            Some(rival) => self.contact_and_conflict(workspace, rival, (of, rival)).await,
            None => Ok((None, false)),
        }
    }

    /// The rows whose keys are known beside the contact's list of conversations.
    async fn beside(
        &self,
        workspace: WorkspaceId,
        of: ContactId,
        channel: &ChannelId,
        answered: Option<ConversationId>,
        last: Option<ConversationId>,
    ) -> Result<Beside, StoreError> {
        let of_contact = Place::of(Table::Contacts, keys::contact(workspace, of));
        let of_window = Place::of(Table::Contacts, keys::window(workspace, of, channel));
        let of_answered =
            answered.map(|id| Place::of(Table::Conversations, keys::conversation(workspace, id)));
        let lanes = answered.into_iter().chain(last.filter(|last| Some(*last) != answered));
        let lane = |id| Place::of(Table::Messages, keys::conversation_lane(workspace, id));
        let of_lanes: Vec<Place> = lanes.map(lane).collect();
        let places = [&of_contact, &of_window].into_iter().chain(&of_answered).chain(&of_lanes);
        let mut rows = self.rows_at(places).await?;
        Ok(Beside {
            contact: contact_in(rows.take(&of_contact))?,
            window: rows.read(&of_window)?,
            answered: of_answered.and_then(|place| rows.take(&place)).map(conversation).transpose()?,
            lanes: rows,
        })
    }

    /// The newest conversation of a contact on a line that takes a message (strongly consistent reads), of at most
    /// [`MOST_CONVERSATIONS`]. One round trip; one more for each further [`PAGE`] conversations that do not take it.
    async fn newest_conversation(
        &self,
        workspace: WorkspaceId,
        of: ContactId,
        channel: &ChannelId,
    ) -> Result<Newest, StoreError> {
        let mut newest = Newest { open: None, ids: vec![] };
        let query =
            Query::of(Table::Conversations, keys::conversations_of_contact(workspace, of)).limit(PAGE);
        let mut page = self.query(query.clone()).await?;
        loop {
            for item in page.items {
                let found = conversation(item)?;
                newest.ids.push(found.id);
                if found.takes_from(of, Some(channel)) {
                    newest.open = Some(found);
                    return Ok(newest);
                }
            }
            if page.next.is_none() || newest.ids.len() >= MOST_CONVERSATIONS {
                return Ok(newest);
            }
            page = self.query(query.clone().after(page.next)).await?;
        }
    }
}

struct Beside {
    contact: Option<Contact>,
    window: Option<WindowRow>,
    answered: Option<Conversation>,
    /// The lanes of the answered conversation and of the last one.
    lanes: Rows,
}

impl InboundPlace {
    /// The place of the first message of a customer who is no contact yet.
    pub fn of_nobody() -> Self {
        Self {
            contact: None,
            rival: None,
            is_told: false,
            destination: Destination::New,
            window: None,
            lane: None,
            identity: None,
        }
    }
}

impl InboundIds {
    /// The contact of the customer: the one with the user id, which never changes hands, otherwise the one with the number.
    pub fn contact(&self) -> Option<ContactId> {
        self.user.as_ref().or(self.number.as_ref()).map(|identity| identity.contact)
    }

    /// The contact with the number, if another one has the user id.
    fn rival(&self) -> Option<ContactId> {
        let number = self.number.as_ref()?.contact;
        self.user.as_ref().is_some_and(|user| user.contact != number).then_some(number)
    }

    /// The row that finds this contact: one that knows the contact's last conversation, if there is one.
    fn identity_of(&self, contact: ContactId) -> Option<&Identity> {
        let own = || [&self.number, &self.user].into_iter().flatten().filter(|own| own.contact == contact);
        own().find(|own| own.last_conversation.is_some()).or_else(|| own().next())
    }
}

impl Identity {
    fn read((place, row): (&Place, &Item)) -> Result<Self, StoreError> {
        let contact = holder_of(row)?;
        let last_conversation = ConversationId::parse(text(row, LAST_CONVERSATION)).ok();
        Ok(Self { place: place.clone(), contact, last_conversation })
    }

    /// The write that names this conversation, if the row names another one. It is refused if the id belongs to
    /// another contact by then.
    fn names(&self, conversation: ConversationId) -> Option<Write> {
        let change = RowUpdate::default()
            .set(LAST_CONVERSATION, s(conversation.to_string()))
            .when("#contactId = :contact")
            .name("contactId")
            .bind(":contact", s(self.contact.to_string()));
        let is_new = self.last_conversation != Some(conversation);
        let (table, key) = self.place.key();
        is_new.then(|| change.of(table, key))
    }
}
