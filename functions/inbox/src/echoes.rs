//! A message that somebody of the business sent from the Business app. The provider sent it already.
//!
//! It goes into the newest conversation of the customer on the line. It wakes a GHOST as an agent's message does, opens no window,
//! and makes neither a contact nor a conversation.

use domain::message::SentBy;
use domain::message::arrival::Destination;
use provider::webhook::Incoming;
use store::{InboundStored, NewInbound, RetryTime, StoreError};

use crate::invocation::Invocation;
use crate::item::{Origin, Processed, Wait};
use crate::messages::{File, arrival, content, created_at, line_of, refers_to};

/// Stores the message in the customer's conversation. Four round trips, one more than for a customer's message: no row names the
/// conversation beforehand.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
) -> Result<Processed, StoreError> {
    let (mut retries, mut file) = (None, None);
    loop {
        match once(invocation, origin, message, &mut file).await? {
            Some(processed) => return Ok(processed),
            None => retries.get_or_insert_with(|| RetryTime::for_merges(invocation.store)).wait().await?,
        }
    }
}

/// One attempt; `None` if something changed meanwhile. `file` keeps what became of the message's file.
async fn once(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
    file: &mut Option<File>,
) -> Result<Option<Processed>, StoreError> {
    let (store, workspace) = (invocation.store, origin.workspace);
    let named = (message.id.as_str(), refers_to(message));
    let ids = store.inbound_ids(workspace, origin.line, named, &message.from.reached()).await?;
    if ids.stored.is_some() {
        return Ok(Some(Processed::Done));
    }
    if let Err(dropped) = line_of(store, origin, &ids)? {
        return Ok(Some(dropped));
    }
    let Some(contact) = ids.contact() else {
        return Ok(Some(Processed::Dropped("the Business app wrote to somebody who is no contact")));
    };
    let Some(place) = store.inbound_place(workspace, contact, origin.line, &ids).await? else {
        return Ok(None);
    };
    let (Some(contact), Destination::Into(found)) = (&place.contact, &place.destination) else {
        return Ok(Some(Processed::Dropped("the Business app wrote where no conversation takes it")));
    };
    // Its conversations are not all where the message must find them.
    let wait = Wait::for_merge(store.now(), origin).filter(|_| contact.merging.is_some());
    if let Some(wait) = wait {
        return Ok(Some(Processed::Later(wait)));
    }
    let what = match content(invocation, origin, message, &ids, file).await? {
        Ok(what) => what,
        Err(wait) => return Ok(Some(Processed::Later(wait))),
    };
    let (by, created_at) = (SentBy::BusinessApp, created_at(origin, message));
    let arrival = arrival(origin, message, (by, contact.id), &ids, what, created_at);
    let conversation = found.at_interaction(store.now()).unwrap_or_else(|| (**found).clone());
    let file = file.as_ref().and_then(|file| file.as_ref().ok()).map(|(media, size)| (media, *size));
    let new = NewInbound { contact, conversation: &conversation, arrival: &arrival, file, conflict: None };
    Ok(match store.store_inbound(&place, &new).await? {
        InboundStored::Done | InboundStored::Repeated => Some(Processed::Done),
        InboundStored::Stale => None,
    })
}
