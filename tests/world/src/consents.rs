//! What must hold about choices, merges and conflicts at the end of a world.

use std::collections::{BTreeMap, BTreeSet};

use domain::PartId;
use serde_json::Value;
use store::Table;

use crate::order::Order;
use crate::phones::canonical;
use crate::rows::{of_key, text};
use crate::simulation::Simulation;
use crate::templates::RECEIPT;
use crate::tenant::{Tenant, is_of};

impl Simulation {
    /// No call of a template began after a choice against it was recorded for the number or user id that was called.
    pub(crate) fn check_begins(&self, tenant: &Tenant) {
        let workspace = tenant.workspace.to_string();
        for call in self.whatsapp.calls() {
            if !call.is_template || call.channel != tenant.line {
                continue;
            }
            let PartId { message, part, .. } = call.part;
            let message = message.to_string();
            let who = match call.to.starts_with('+') {
                true => canonical(&call.to),
                false => call.to.clone(),
            };
            let of = |order: &Order| {
                order.outs_at_begin((&message, part), call.recorded, &(workspace.clone(), who))
            };
            let Some(outs) = self.faults.of_order(of).flatten() else {
                self.breaks(format!("a call that never began: {call:?}"));
                continue;
            };
            let is_marketing = call.what != RECEIPT;
            let refuses = |scope: &String| match scope.as_str() {
                "ALL" => true,
                "MARKETING" => is_marketing,
                line => is_marketing && line == tenant.line,
            };
            if outs.iter().any(refuses) {
                self.breaks(format!("a call for a template began after {outs:?}: {call:?}"));
            }
        }
    }

    /// The tenant was told of each change of a choice once, of each merge once, and of each conflict once.
    pub(crate) fn check_told(&self, tenant: &Tenant) {
        let events = self.receivers.acknowledged(&tenant.url);
        let ids_of = |is: &dyn Fn(&Value) -> bool| {
            let of: BTreeSet<&String> =
                events.iter().filter(|event| is(&event.body)).map(|event| &event.id).collect();
            of.len()
        };
        let is_choice = |body: &Value| {
            ["contact.opted_out", "contact.opted_in"].map(Value::from).contains(&body["eventType"])
        };
        let changed = self.faults.of_order(|order| order.events_of(&tenant.workspace.to_string()));
        let told = ids_of(&is_choice);
        if changed != Some(told) {
            self.breaks(format!("{changed:?} changes of choices are told as {told}"));
        }
        let rows = self.world.db.rows(Table::Contacts);
        let own = || rows.iter().filter(|row| is_of(row, tenant));
        for merged in own().filter(|row| row["kind"]["S"] == "mergedContact").filter_map(of_key) {
            let told = ids_of(&|body| body["payload"]["mergedContactId"] == merged);
            if told != 1 {
                self.breaks(format!("the merge of {merged} is told {told} times"));
            }
        }
        let mut conflicts: BTreeMap<[String; 3], usize> = BTreeMap::new();
        for row in own().filter(|row| row["kind"]["S"] == "contactConflict") {
            let of = [of_key(row), text(&row["reason"]), text(&row["otherContactId"])];
            *conflicts.entry(of.map(|part| part.unwrap_or_default().to_owned())).or_default() += 1;
        }
        for ([contact, reason, other], kept) in conflicts {
            let told = ids_of(&|body| {
                let payload = &body["payload"];
                body["eventType"] == "contact.conflict"
                    && payload["contactId"] == contact.as_str()
                    && payload["reason"] == reason.as_str()
                    && payload["otherContactId"].as_str().unwrap_or_default() == other
            });
            let is_pair = !other.is_empty();
            if told != kept || is_pair && kept > 1 {
                self.breaks(format!("{reason} of {contact} and {other}: {kept} kept, {told} told"));
            }
        }
    }

    /// A contact that became part of another one is in no list, conversation, window or identity, and leads to one that is
    /// there. No contact is still in a merge, and each conversation is listed once for each of its customers.
    pub(crate) fn check_tombstones(&self, tenant: &Tenant) {
        let contacts = self.world.db.rows(Table::Contacts);
        let conversations = self.world.db.rows(Table::Conversations);
        let own = |row: &&Value| is_of(row, tenant);
        let kind = |row: &Value, kind: &str| row["kind"]["S"] == kind;
        let is_there =
            |id: &str| contacts.iter().filter(own).any(|row| kind(row, "contact") && of_key(row) == Some(id));
        for tombstone in contacts.iter().filter(own).filter(|row| kind(row, "mergedContact")) {
            let Some(id) = of_key(tombstone) else { continue };
            if !text(&tombstone["mergedInto"]).is_some_and(is_there) {
                self.breaks(format!("a merged contact leads to nobody: {tombstone}"));
            }
            for row in contacts.iter().chain(&conversations).filter(own) {
                let sk = text(&row["sk"]).unwrap_or_default();
                // Who had a number, who was seen, what was told and what was answered before stays.
                let is_history = ["H#", "S#", "X#"].iter().any(|of| sk.starts_with(of)) || sk == "R";
                let mut shown = row.clone();
                if let Some(row) = shown.as_object_mut() {
                    row.remove("merged");
                }
                if !is_history && !kind(row, "mergedContact") && shown.to_string().contains(id) {
                    self.breaks(format!("contact {id} was merged and is still in {row}"));
                }
            }
        }
        if let Some(row) = contacts.iter().filter(own).find(|row| !row["merging"].is_null()) {
            self.breaks(format!("a contact is in a merge at rest: {row}"));
        }
        let mut lists: BTreeMap<(&str, String), usize> = BTreeMap::new();
        let of_contact = format!("{}#X#", tenant.workspace);
        for row in conversations.iter().filter(own) {
            let pk = text(&row["pk"]).unwrap_or_default();
            if let (Some(contact), Some(id)) = (pk.strip_prefix(&of_contact), text(&row["id"])) {
                *lists.entry((id, contact.to_owned())).or_default() += 1;
            }
        }
        for home in conversations.iter().filter(own) {
            if text(&home["sk"]) != Some("C") || !kind(home, "conversation") {
                continue;
            }
            let id = text(&home["id"]).unwrap_or_default();
            for external in home["externals"]["L"].as_array().into_iter().flatten() {
                let contact = text(&external["M"]["contactId"]).unwrap_or_default().to_owned();
                let listed = lists.remove(&(id, contact.clone())).unwrap_or_default();
                if listed != 1 {
                    self.breaks(format!("conversation {id} is listed {listed} times for {contact}"));
                }
            }
        }
        if let Some(left) = lists.keys().next() {
            self.breaks(format!("a conversation is listed for somebody who is not in it: {left:?}"));
        }
    }
}
