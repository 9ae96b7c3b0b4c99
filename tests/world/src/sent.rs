//! The messages at the end of a world: those that were sent, and those of customers.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use domain::choices::Choice;
use domain::message::Content;
use domain::{MessageStatus, PartId};
use provider::{Meaning, meaning};
use serde_json::Value;

use crate::persons::NUMBER;
use crate::rows::{contains, of_key, text};
use crate::simulation::Simulation;
use crate::tenant::{Tenant, is_of};
use crate::whatsapp::Called;

impl Simulation {
    /// No part is sent twice or out of order, and no part is called for again unless the answer allowed it.
    pub(crate) fn check_calls(&self, messages: &[Value]) {
        let numbers: BTreeMap<&str, u64> = messages
            .iter()
            .filter_map(|row| Some((text(&row["id"])?, row["seq"]["N"].as_str()?.parse().ok()?)))
            .collect();
        let mut of_part: BTreeMap<String, Vec<Called>> = BTreeMap::new();
        // What people write passes a template that waits.
        let mut last: BTreeMap<(String, bool), (u64, usize)> = BTreeMap::new();
        for call in self.whatsapp.calls() {
            let PartId { conversation, message, part } = call.part;
            let tenant = self.tenants.iter().find(|tenant| tenant.line == call.channel);
            let is_erased = tenant.is_some_and(|tenant| tenant.ledger.borrow().person.is_erased);
            if is_erased && call.to.trim_start_matches('+') == NUMBER.trim_start_matches('+') {
                continue;
            }
            let Some(seq) = numbers.get(message.to_string().as_str()) else {
                self.breaks(format!("a call for a message that is not there: {call:?}"));
                continue;
            };
            let place = (*seq, part);
            let before = last.insert((conversation.to_string(), call.is_template), place);
            if before.is_some_and(|before| before > place) {
                self.breaks(format!("a call out of order, after {before:?}: {call:?}"));
            }
            let is_own = tenant.is_some_and(|tenant| {
                call.token == format!("token-of-{}", tenant.line)
                    && (!call.what.starts_with("text")
                        || call.what.ends_with(&format!("of {}", tenant.number)))
                    && (!call.what.starts_with("http")
                        || call.what.contains(&format!("/{}/", tenant.workspace)))
            });
            let is_known = call.to.trim_start_matches('+').starts_with("346");
            if !is_own || !is_known && !self.whatsapp.is_of_subscriber(&call.to) {
                self.breaks(format!("a call with another tenant's content: {call:?}"));
            }
            of_part.entry(call.part.to_string()).or_default().push(call);
        }
        for calls in of_part.values() {
            for pair in calls.windows(2) {
                if !pair[0].may_be_repeated() {
                    self.breaks(format!("a part is called for again: {pair:?}"));
                }
            }
            if calls.iter().filter(|call| call.wamid.is_some()).count() > 1 {
                self.breaks(format!("a part is sent twice: {calls:?}"));
            }
        }
    }

    /// Every message that was accepted is there once, and each of its parts ended as its last call did.
    pub(crate) async fn check_messages(&self, tenant: &Tenant, rows: &[Value]) {
        let calls = self.whatsapp.calls();
        let ledger = tenant.ledger.borrow().clone();
        for posted in ledger.posted.keys() {
            let stored: Vec<&Value> = rows.iter().filter(|row| contains(row, posted)).collect();
            match (ledger.messages.get(posted), stored.as_slice()) {
                (None, []) => {}
                (Some((id, _)), [row]) if text(&row["id"]) == Some(id.as_str()) => {}
                (None, [_]) => {}
                (accepted, stored) => {
                    self.breaks(format!("{posted}: accepted as {accepted:?}, stored {}", stored.len()));
                }
            }
        }
        for row in rows.iter().filter(|row| is_of(row, tenant)) {
            let ids = text(&row["conversationId"]).or(of_key(row)).zip(text(&row["id"]));
            let Some((conversation, id)) = ids else {
                self.breaks(format!("a message without ids: {row}"));
                continue;
            };
            let conversation = domain::ConversationId::parse(conversation).expect("an id");
            let id = domain::MessageId::parse(id).expect("an id");
            let message = self.world.db.store().message(tenant.workspace, conversation, id).await;
            let Ok(Some(message)) = message else {
                self.breaks(format!("a message cannot be read: {row}"));
                continue;
            };
            let pieces = message.content.pieces();
            let files: Vec<String> = message.files().iter().map(|file| file.media.to_string()).collect();
            let asked = match &message.content {
                Content::Written { body: Some(body), .. } => ledger.attached.get(body.as_str()).cloned(),
                _ => None,
            };
            if files != asked.unwrap_or_default()
                || message.parts.len() != message.recipients.len() * pieces.len()
            {
                self.breaks(format!("a message does not have its files and parts: {message:?}"));
            }
            for (number, part) in message.parts.iter().enumerate() {
                let own = PartId { conversation, message: id, part: number };
                let of_part: Vec<&Called> = calls.iter().filter(|call| call.part == own).collect();
                let ended = of_part.last().and_then(|call| call.outcome).map(meaning);
                let sent = of_part.iter().find_map(|call| call.wamid.clone());
                let error = part.error.as_ref().map(|error| error.as_str().to_owned());
                let is_right = match part.status {
                    MessageStatus::Sent | MessageStatus::Delivered | MessageStatus::Read => {
                        sent.is_some() && part.provider_message_id == sent
                    }
                    // Only if the outcome was unknown to the sender, or it could not record it, or if the sender of the
                    // next call died between the record of its beginning and the call.
                    MessageStatus::Unknown => {
                        let is_next = of_part.last().is_none_or(|call| call.may_be_repeated());
                        ended == Some(Meaning::Unknown)
                            || of_part.last().is_some_and(|call| call.may_be_unrecorded())
                            || is_next && self.faults.happened.load(Ordering::SeqCst) > 0
                    }
                    MessageStatus::Failed => match error.as_deref() {
                        // WhatsApp reaches nobody, or edited the template.
                        Some("131026" | "132000") => ended == Some(Meaning::Failed),
                        Some("OPTED_OUT") => {
                            ledger.choices.iter().any(|(_, _, choice)| *choice == Choice::Out)
                        }
                        Some("OPTED_OUT_MARKETING") => {
                            ledger.customers.iter().any(|of| of.chose) && sent.is_none()
                        }
                        // The recipient became part of another one of the same message.
                        Some("NO_ADDRESS") => ledger.has_merges() && sent.is_none(),
                        Some("OUTSIDE_WINDOW") => sent.is_none(),
                        // The customer moved to another number before the message was sent.
                        Some("NUMBER_CHANGED") => message.lead.is_some() && sent.is_none(),
                        _ => false,
                    },
                    MessageStatus::Queued | MessageStatus::Sending => false,
                };
                let is_content = pieces
                    .get(part.index)
                    .is_some_and(|piece| of_part.iter().all(|call| call.has(*piece, tenant.workspace)));
                let told = sent.as_deref().and_then(|sent| self.whatsapp.told(sent));
                if !is_right || !is_content || told.is_some_and(|told| told > part.status) {
                    self.breaks(format!("part {own} is {part:?} after {of_part:?}"));
                }
            }
        }
    }

    /// Every message of a customer is there once.
    pub(crate) fn check_inbound(&self, tenant: &Tenant, rows: &[Value]) {
        for said in &tenant.ledger.borrow().inbound {
            let stored: Vec<&Value> = rows.iter().filter(|row| contains(row, said)).collect();
            if stored.len() != 1 || !is_of(stored[0], tenant) {
                self.breaks(format!("{said} is stored {} times", stored.len()));
            }
        }
    }
}
