//! A customer's message.
//!
//! ```text
//! the provider's ids -> contact -> conversation -> file -> one transaction
//! ```
//!
//! If something changes between the reads and the transaction, everything is read again. A workspace that is disabled
//! gets its messages too, so nothing is lost.

use std::time::Duration;

use domain::contact::conflict::{Conflict, ConflictReason};
use domain::contact::identified::{Identified, Learnt, Word};
use domain::inbound::file::is_asked_for_again;
use domain::lead::LeadName;
use domain::media::FileMissing;
use domain::message::arrival::{Arrival, Destination};
use domain::message::received::{Received, ReceivedContent, Said};
use domain::message::{Content as Stored, SentBy};
use domain::text::printable;
use domain::{
    Contact, ContactId, ConversationId, Line, Media, MessageId, PersonName, Reached, Timestamp, WorkspaceId,
    error_chain,
};
use provider::webhook::{Content, Customer, Incoming, MediaFile};
use store::{InboundIds, InboundPlace, InboundStored, NewInbound, RetryTime, Store, StoreError};

use crate::files::{Fetched, FileOwner, Files};
use crate::invocation::Invocation;
use crate::item::{Origin, Processed, Wait};
use crate::preferences;

/// The delay after which a message whose file the provider did not give is processed again.
const FILE_AGAIN: Duration = Duration::from_secs(10);
/// How much the clocks of two processes may differ.
const CLOCKS: Duration = Duration::from_secs(60);
/// The greatest number of characters of a profile's name that a contact takes.
const NAME: usize = LeadName::MAX;

/// Stores the message in its conversation.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
) -> Result<Processed, StoreError> {
    let (mut retries, mut file) = (None, None);
    loop {
        match once(invocation, origin, message, &mut file).await? {
            Some(processed) => {
                // A repeat does this again, because the attempt that stored the message may have died before it. A
                // customer opts out in a blocked conversation, too, and with the caption of a file that comes later.
                preferences::apply_keyword(invocation, origin, message).await?;
                return Ok(processed);
            }
            // The time begins with the first conflict, because a file may have taken longer.
            None => retries.get_or_insert_with(|| RetryTime::for_merges(invocation.store)).wait().await?,
        }
    }
}

/// A file of a message: the stored one with its size, or why it is missing.
pub(crate) type File = Result<(Media, u64), FileMissing>;

/// One attempt; `None` if something changed meanwhile. `file` keeps what became of the message's file.
async fn once(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
    file: &mut Option<File>,
) -> Result<Option<Processed>, StoreError> {
    let (store, workspace) = (invocation.store, origin.workspace);
    let reached = message.from.reached();
    let named = (message.id.as_str(), refers_to(message));
    let ids = store.inbound_ids(workspace, origin.line, named, &reached).await?;
    let created_at = created_at(origin, message);
    if let Some((conversation, stored)) = ids.stored {
        if ids.is_placeholder && !message.extras.is_unavailable() {
            return filled(invocation, origin, message, (&ids, conversation, stored), file).await;
        }
        return repeated(store, workspace, &ids, (conversation, stored), created_at).await.map(Some);
    }

    let line = match line_of(store, origin, &ids)? {
        Ok(line) => line,
        Err(dropped) => return Ok(Some(dropped)),
    };
    let place = match ids.contact() {
        None => InboundPlace::of_nobody(),
        Some(contact) => match store.inbound_place(workspace, contact, origin.line, &ids).await? {
            Some(place) => place,
            None => return Ok(None),
        },
    };
    let now = store.now();
    let at = message.at.min(origin.inbound.received_at);
    let word = Word { reached: &reached, account: &line.business_account, at };
    let (contact, conflict) = match customer(store, origin, message, (&place, &word)).await? {
        Whose::Contact(contact, conflict) => (*contact, conflict),
        Whose::Nobodys => {
            return Ok(Some(Processed::Dropped("neither the number nor the user id can be used")));
        }
        Whose::NotYet(wait) => return Ok(Some(Processed::Later(wait))),
    };
    if let Destination::Blocked(_) = place.destination {
        let is_kept = store.keep_window(workspace, contact.id, origin.line, &place, created_at).await?;
        return Ok(is_kept.then_some(Processed::Dropped("the conversation is blocked")));
    }
    let what = match content(invocation, origin, message, &ids, file).await? {
        Ok(what) => what,
        Err(wait) => return Ok(Some(Processed::Later(wait))),
    };
    let arrival = arrival(origin, message, (SentBy::Customer, contact.id), &ids, what, created_at);
    let conversation = match &place.destination {
        Destination::Into(found) => found.at_interaction(now).unwrap_or_else(|| (**found).clone()),
        Destination::Blocked(_) | Destination::New => {
            arrival.opens(&contact, line.brand.clone(), store.shards_of_new(workspace).await?, now)
        }
    };
    let file = file.as_ref().and_then(|file| file.as_ref().ok()).map(|(media, size)| (media, *size));
    let conflict = conflict.as_ref();
    let new =
        NewInbound { contact: &contact, conversation: &conversation, arrival: &arrival, file, conflict };
    Ok(match store.store_inbound(&place, &new).await? {
        InboundStored::Done | InboundStored::Repeated => Some(Processed::Done),
        InboundStored::Stale => None,
    })
}

/// The workspace's line; what becomes of the message if it was for the workspace that had the line before.
pub(crate) fn line_of<'a>(
    store: &Store,
    origin: Origin<'_>,
    ids: &'a InboundIds,
) -> Result<Result<&'a Line, Processed>, StoreError> {
    let Some(line) = &ids.line else {
        // The line moved to another workspace since its claim was read.
        store.forget_line_claim(origin.line);
        return Err(StoreError::Busy("the workspace does not have the line any more".into()));
    };
    let is_before = origin.inbound.received_at.plus(CLOCKS) < line.created_at;
    let dropped = Processed::Dropped("it was received before the workspace got the line");
    Ok(if is_before { Err(dropped) } else { Ok(line) })
}

/// When the message was written.
pub(crate) fn created_at(origin: Origin<'_>, message: &Incoming) -> Timestamp {
    let rank = origin.inbound.ranks.get(&message.id).copied().unwrap_or_default();
    Received::created_at(message.at, rank, origin.inbound.received_at)
}

/// A message that is stored already. The attempt that stored it may have died before it recorded that the customer was
/// seen. A message that was erased since leaves no such record. For a contact that was merged, the one that stays was seen.
async fn repeated(
    store: &Store,
    workspace: WorkspaceId,
    ids: &InboundIds,
    (conversation, message): (ConversationId, MessageId),
    at: Timestamp,
) -> Result<Processed, StoreError> {
    let stored = store.message(workspace, conversation, message).await?.map(|message| message.content);
    if let Some(Stored::Received(received)) = stored {
        // A contact that has the customer's ids was not merged.
        let contact = match ids.contact() == Some(received.contact) {
            true => received.contact,
            false => store.merged_into(workspace, received.contact).await?.unwrap_or(received.contact),
        };
        store.saw(workspace, conversation, contact, at).await?;
    }
    Ok(Processed::Done)
}

/// The content of a message for which a placeholder is stored, because the provider could not show it before. The placeholder opened
/// the window and woke the conversation. `None` if something changed meanwhile.
async fn filled(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
    (ids, conversation, stored): (&InboundIds, ConversationId, MessageId),
    file: &mut Option<File>,
) -> Result<Option<Processed>, StoreError> {
    let store = invocation.store;
    let Some(seen) = store.message(origin.workspace, conversation, stored).await? else {
        return Ok(Some(Processed::Done));
    };
    let is_placeholder = matches!(&seen.content, Stored::Received(received) if received.is_placeholder());
    if !is_placeholder {
        return Ok(Some(Processed::Done));
    }
    let what = match content(invocation, origin, message, ids, file).await? {
        Ok(what) => what,
        Err(wait) => return Ok(Some(Processed::Later(wait))),
    };
    let reply_to = answered(ids).filter(|_| message.answers.is_some());
    let Some(next) = seen.filled(what, message.extras.clone(), reply_to, store.now()) else {
        return Ok(Some(Processed::Done));
    };
    let file = file.as_ref().and_then(|file| file.as_ref().ok()).map(|(media, size)| (media, *size));
    Ok(store.fill_placeholder(&seen, &next, file).await?.then_some(Processed::Done))
}

pub(crate) fn arrival(
    origin: Origin<'_>,
    message: &Incoming,
    (by, contact): (SentBy, ContactId),
    ids: &InboundIds,
    what: ReceivedContent,
    created_at: Timestamp,
) -> Arrival {
    let received = Received {
        contact,
        channel: origin.line.clone(),
        provider_message_id: message.id.clone(),
        what,
        extras: message.extras.clone(),
    };
    // A reaction names its message in its content.
    let is_answer = message.answers.is_some();
    Arrival { by, received, reply_to: answered(ids).filter(|_| is_answer), created_at }
}

/// The provider's id of the message that decides the conversation: the one that the message answers or reacts to.
pub(crate) fn refers_to(message: &Incoming) -> Option<&str> {
    match &message.content {
        Content::Reaction { to, .. } => Some(to),
        _ => message.answers.as_deref(),
    }
}

fn answered(ids: &InboundIds) -> Option<MessageId> {
    ids.answered.map(|(_, message)| message)
}

/// The content of the message; an error if its file may be had later.
pub(crate) async fn content(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
    ids: &InboundIds,
    file: &mut Option<File>,
) -> Result<Result<ReceivedContent, Wait>, StoreError> {
    Ok(Ok(match &message.content {
        Content::Said(said) => ReceivedContent::Said(said.clone()),
        Content::Media(sent) => {
            let file = match file {
                Some(file) => file,
                None => match fetched(invocation, origin, message, sent).await? {
                    Ok(fetched) => file.insert(fetched),
                    Err(wait) => return Ok(Err(wait)),
                },
            };
            let file = file.clone().map(|(media, size)| media.attached(size));
            ReceivedContent::File {
                sent_as: sent.sent_as,
                file,
                caption: sent.caption.clone(),
                voice: sent.voice,
                animated: sent.animated,
            }
        }
        Content::Reaction { to, emoji } => ReceivedContent::Reaction {
            to: answered(ids),
            provider_message_id: to.clone(),
            emoji: emoji.clone(),
        },
        // This is processed as a move, and not as a message.
        Content::Moved { .. } => ReceivedContent::Said(Said::unsupported("system")),
    }))
}

/// The file, or why it is missing; an error if it may be had later.
async fn fetched(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
    sent: &MediaFile,
) -> Result<Result<File, Wait>, StoreError> {
    let (store, before) = (invocation.store, origin.inbound.files_since.get(&message.id).copied());
    let since = before.unwrap_or(store.now());
    let owner = FileOwner { workspace: origin.workspace, line: origin.line };
    let fetch =
        invocation.files.fetch(store, invocation.bucket, owner, &message.id, sent, invocation.begins_until());
    let reason = match fetch.await? {
        Fetched::Stored { media, size } => return Ok(Ok(Ok((media, size)))),
        Fetched::NoRoom => return Ok(Err(Wait { delay: Duration::ZERO, file_since: before })),
        Fetched::NotNow if is_asked_for_again(since, store.now(), FILE_AGAIN + Files::LIMIT) => {
            return Ok(Err(Wait { delay: FILE_AGAIN, file_since: Some(since) }));
        }
        Fetched::NotNow => FileMissing::Unavailable,
        Fetched::Missing(reason) => reason,
    };
    invocation.counted.files_missing.add(1);
    Ok(Ok(Err(reason)))
}

/// Whose message it is.
enum Whose {
    /// The customer's contact after the message, and what the tenant is told of it with the message.
    Contact(Box<Contact>, Option<Conflict>),
    /// Neither the number nor the user id can be used.
    Nobodys,
    /// The customer's two contacts are being merged.
    NotYet(Wait),
}

async fn customer(
    store: &Store,
    origin: Origin<'_>,
    message: &Incoming,
    (place, word): (&InboundPlace, &Word<'_>),
) -> Result<Whose, StoreError> {
    let (found, now) = (place.contact.as_ref(), store.now());
    let wait = Wait::for_merge(now, origin);
    let named = |is: &Contact| {
        let is = is.named(name_of(&message.from), now).unwrap_or_else(|| is.clone());
        Whose::Contact(Box::new(is), None)
    };
    // Its conversations are not all where the message must find them.
    let is_merging = found.is_some_and(|found| found.merging.is_some());
    if let Some(wait) = wait.filter(|_| is_merging) {
        return Ok(Whose::NotYet(wait));
    }
    Ok(match Identified::of(word, place.rival.as_ref().or(found), found) {
        Identified::Nobody => match new_contact(store, origin, message, word).await? {
            Some(contact) => Whose::Contact(Box::new(contact), None),
            None => Whose::Nobodys,
        },
        Identified::One(found) => {
            let Learnt { contact, is_another_user } = heard(store, found, &message.from, word).await?;
            let conflict = is_another_user.then(|| Conflict::of_user_id(&contact));
            Whose::Contact(Box::new(contact), conflict)
        }
        Identified::Same { survivor, merged } => {
            let runs = store.are_one_person(survivor, merged).await?;
            wait.filter(|_| runs).map_or_else(|| named(merged), Whose::NotYet)
        }
        Identified::Apart { is, other } => {
            if !place.is_told {
                let reason = ConflictReason::NumberOfAnother;
                store.keep_conflict(&Conflict::between(is, reason, other.id, now)).await?;
            }
            named(is)
        }
        Identified::Before(is) => named(is),
    })
}

/// The contact after a message of its customer: with the ids that the message names, and the name of the profile if the contact
/// has none. Both are one version. Without the person key nobody can tell whether an id opted out, so it is not learnt.
async fn heard(
    store: &Store,
    found: &Contact,
    from: &Customer,
    word: &Word<'_>,
) -> Result<Learnt, StoreError> {
    let now = store.now();
    let Learnt { contact, is_another_user } = match found.learns(word, now) {
        Some(learnt) if has_person_key(store).await? => learnt,
        _ => Learnt { contact: found.clone(), is_another_user: false },
    };
    let contact = contact.named(name_of(from), now).unwrap_or(contact);
    let contact = Contact { version: contact.version.min(found.version + 1), ..contact };
    Ok(Learnt { contact, is_another_user })
}

/// Whether the choices of a further id can be read.
async fn has_person_key(store: &Store) -> Result<bool, StoreError> {
    match store.person_key().await {
        Ok(_) => Ok(true),
        Err(error @ StoreError::NoPersonKey(_)) => {
            tracing::error!(cause = error_chain(&error), "a customer's id not kept");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The contact that a message of an unknown customer makes: PARTIAL, with the ids and the name of the profile. A customer
/// who hides the number has the user id only. `None` if neither id can be used. Without the person key, a customer with two ids is
/// known by the number until the key is back.
async fn new_contact(
    store: &Store,
    origin: Origin<'_>,
    message: &Incoming,
    word: &Word<'_>,
) -> Result<Option<Contact>, StoreError> {
    let (first_name, last_name) = name_of(&message.from);
    let (id, now) = (Received::contact_id(origin.workspace, &message.id), store.now());
    let cellphone = word.reached.cellphone();
    let has_both = cellphone.is_some() && word.reached.user_id.is_some();
    let number = Reached { wa_id: word.reached.wa_id.clone(), user_id: None };
    let reached = if !has_both || has_person_key(store).await? { word.reached } else { &number };
    let blank = Contact { first_name, last_name, cellphone, ..Contact::blank(id, origin.workspace, now) };
    let learnt = blank.learns(&Word { reached, ..*word }, now);
    let contact = learnt.map_or(blank, |learnt| learnt.contact);
    let is_reachable = contact.cellphone.is_some() || !contact.user_ids.is_empty();
    Ok(is_reachable.then_some(contact))
}

/// The name of the profile, divided as the name of a lead is. The customer chooses it, so only printable text is stored.
fn name_of(person: &Customer) -> (Option<PersonName>, Option<PersonName>) {
    let name = printable(person.name.as_deref().unwrap_or_default());
    let name: String = name.trim().chars().take(NAME).collect();
    LeadName::parse(&name).map(|name| name.first_and_last()).unwrap_or_default()
}
