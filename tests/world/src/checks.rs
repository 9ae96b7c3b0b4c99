//! The end of a world: faults stop, everything comes to rest, and what is there must be what was accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::choices::Choice;
use domain::{Cellphone, Email, UserRef};
use harness::{GatewayEvent, OptedOut};
use serde_json::{Value, json};
use store::Table;
use tokio::time::sleep;

use crate::edits::{Edit, Edits};
use crate::phones::canonical;
use crate::rows::{id_of, of_key, text};
use crate::simulation::Simulation;
use crate::tenant::{Tenant, is_of};

const MINUTE: Duration = Duration::from_secs(60);
/// How many minutes a world has to come to rest: more than two days. A delivery waits that long for its event if the
/// relay died after it had written the delivery and before it wrote the event, and an operator erased the person or
/// disabled the endpoint before the relay tried again.
const PATIENCE: u32 = 3_000;

/// The place of a message in the list of its conversation: its moment, then its number.
type Place<'a> = (&'a str, u64);

impl Simulation {
    /// Waits until all clients are done, with the sweeper's run of each minute.
    pub(crate) async fn act(&self) {
        let sweeps = async {
            loop {
                sleep(MINUTE).await;
                // The schedule may start two sweepers.
                match self.faults.levels.crowd {
                    0 => self.sweep().await,
                    _ => drop(tokio::join!(self.sweep(), self.sweep())),
                }
            }
        };
        tokio::select! {
            biased;
            () = self.join("client") => {}
            () = sweeps => {}
        }
    }

    /// Ends all faults and lets the time pass until nothing waits.
    pub(crate) async fn rest(&self) {
        // Some faults go on while the rest of the work is done.
        for _ in 0..2 {
            sleep(MINUTE).await;
            self.sweep().await;
        }
        self.faults.end();
        self.trace.note("faults end");
        for tenant in &self.tenants {
            self.enable(tenant).await;
        }
        for _ in 0..PATIENCE {
            self.find_panics().await;
            let due = self.first_due();
            let is_quiet = self.busy.get() == 0 && !self.has_messages();
            match due {
                None if is_quiet => return,
                Some(due) if is_quiet => {
                    // Nothing happens before the first lane is due, apart from the differences of clocks.
                    let wait = due - self.now().as_millis() + 5_000;
                    sleep(Duration::from_millis(u64::try_from(wait).unwrap_or_default())).await;
                }
                _ => {}
            }
            sleep(MINUTE).await;
            if due.is_some() {
                self.sweep().await;
            }
        }
        let (due, messages) = (self.first_due(), self.queues.borrow().clone());
        self.breaks(format!("no rest: due {due:?}, busy {}, messages {messages:?}", self.busy.get()));
    }

    /// When the first lane is due, in milliseconds since 1970.
    fn first_due(&self) -> Option<i64> {
        let lanes = [Table::Messages, Table::Webhooks, Table::Leads].into_iter();
        let rows = lanes.flat_map(|table| self.world.db.rows_from(table, "L"));
        // The job of a person is a lane whose sort key is its id.
        let rows = rows.chain(self.world.db.rows(Table::Contacts));
        rows.filter_map(|row| row["dueAt"]["N"].as_str()?.parse().ok()).min()
    }

    /// Checks everything.
    pub(crate) async fn check(&self) {
        self.find_panics().await;
        self.sync();
        for wrong in self.receivers.broken().into_iter().chain(self.faults.wrong_commits()) {
            self.breaks(wrong);
        }
        for dead in self.dead_letters.take() {
            // A message that names a lane may become a dead letter while calls of its visits fail. Its lane is at rest.
            // A piece of a webhook may become one only after it was processed.
            if dead.queue == "inbox" && !dead.is_done || dead.is_refused {
                self.breaks(format!("a dead letter: {}", dead.body));
            }
        }
        let messages = self.world.db.rows_from(Table::Messages, "M#");
        self.check_calls(&messages);
        for tenant in &self.tenants {
            self.check_messages(tenant, &messages).await;
            self.check_files(tenant).await;
            self.check_settings(tenant).await;
            self.check_closed(tenant);
            self.check_extras(tenant);
            self.check_hooks(tenant);
            self.check_credentials(tenant).await;
            self.check_person(tenant).await;
            self.check_merged(tenant).await;
            self.check_tombstones(tenant);
            self.check_customers(tenant, &messages).await;
            self.check_begins(tenant);
            self.check_told(tenant);
            self.check_inbound(tenant, &messages);
            self.check_seen(tenant, &messages);
            self.check_opened(tenant);
            self.check_leads(tenant).await;
            self.check_identities(tenant);
            self.check_choices(tenant).await;
            self.check_versions(tenant).await;
            self.check_numbers(tenant, &messages);
            self.check_events(tenant, &messages);
            self.check_templates(tenant).await;
            self.check_lists(tenant).await;
            self.check_lists_of_messages(tenant, &messages).await;
            self.check_usage(tenant).await;
        }
        if !self.world.db.rows_from(Table::Messages, "Q#").is_empty() {
            self.breaks("entries of messages to send are left".to_owned());
        }
    }

    /// A customer was last seen when their last message was written, or later, or in the minute before.
    fn check_seen(&self, tenant: &Tenant, messages: &[Value]) {
        let millis = |at: &Value| domain::Timestamp::parse(text(at)?).map(domain::Timestamp::as_millis);
        for row in self.world.db.rows_from(Table::Conversations, "S#").iter().filter(|row| is_of(row, tenant))
        {
            let (Some(pk), Some(contact)) = (text(&row["pk"]), text(&row["sk"])) else { continue };
            let of = contact.trim_start_matches("S#");
            let written = messages.iter().filter(|message| {
                text(&message["pk"]) == Some(pk)
                    && text(&message["content"]["M"]["received"]["M"]["contactId"]) == Some(of)
            });
            let last = written.filter_map(|message| millis(&message["createdAt"])).max();
            let seen: Option<i64> = row["lastSeenAt"]["N"].as_str().and_then(|text| text.parse().ok());
            // Who reads a message is seen, too.
            if last.zip(seen).is_some_and(|(last, seen)| seen < last - 60_000) {
                self.breaks(format!("{pk}: {contact} was seen at {seen:?}, wrote last at {last:?}"));
            }
        }
    }

    /// Every conversation that was accepted is there once, and none twice.
    fn check_opened(&self, tenant: &Tenant) {
        let homes = self.world.db.rows_from(Table::Conversations, "C");
        let ids: Vec<&str> = homes
            .iter()
            .filter(|row| is_of(row, tenant) && row["kind"]["S"] == "conversation")
            .filter_map(|row| text(&row["id"]))
            .collect();
        let ledger = tenant.ledger.borrow();
        for id in ledger.opened.values().flatten() {
            if ids.iter().filter(|found| *found == id).count() != 1 {
                self.breaks(format!("conversation {id} was accepted and is not there"));
            }
        }
        // What was never answered may be there once. Customers and leads open conversations of their own.
        let names: Vec<&str> = homes.iter().filter_map(|row| text(&row["name"])).collect();
        for name in ledger.opened.keys() {
            if names.iter().filter(|found| found == &name).count() > 1 {
                self.breaks(format!("{name} is there twice"));
            }
        }
    }

    /// Every accepted lead has ended as its message did, an agent can see it unless it is suppressed, and all requests of a
    /// number got the id of one lead.
    async fn check_leads(&self, tenant: &Tenant) {
        let ledger = tenant.ledger.borrow().clone();
        let mut of_number: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (id, number) in &ledger.leads {
            of_number.entry(canonical(number)).or_default().insert(id);
            let lead = domain::LeadId::parse(id).expect("an id");
            let found = self.world.db.store().lead(tenant.workspace, lead).await.ok().flatten();
            let Some(found) = found else {
                self.breaks(format!("lead {id} was accepted and is not there"));
                continue;
            };
            match found.state {
                domain::LeadState::Queued | domain::LeadState::Sending => {
                    self.breaks(format!("lead {id} is {:?} at rest", found.state));
                }
                domain::LeadState::Suppressed if !found.opened => {}
                _ => self.check_opened_lead(&found).await,
            }
        }
        // No run takes a day.
        for (number, leads) in of_number {
            if leads.len() > 1 {
                self.breaks(format!("repeats of {number} got the ids of {} leads", leads.len()));
            }
        }
    }

    /// A lead has a conversation, and the state of its message. Every tenant has a line and a template, so only a lead that was
    /// repeated or retried, and is suppressed this time, has a conversation without a message.
    async fn check_opened_lead(&self, lead: &domain::Lead) {
        let store = self.world.db.store();
        let conversation = store.conversation(lead.workspace_id, lead.conversation).await.ok().flatten();
        let message = match lead.sent_message() {
            Some(id) => store.message(lead.workspace_id, lead.conversation, id).await.ok().flatten(),
            None => None,
        };
        let is_suppressed = lead.sent_message().is_none() && lead.state == domain::LeadState::Suppressed;
        let said = message.as_ref().map(domain::Lead::state_of);
        if conversation.is_none() || !is_suppressed && said != Some((lead.state, lead.error.clone())) {
            self.breaks(format!("lead {} is {lead:?}, its message {message:?}", lead.id));
        }
    }

    /// No two contacts have one number, address or id of the tenant's system, and the rows of identities agree with the contacts.
    fn check_identities(&self, tenant: &Tenant) {
        let rows = self.world.db.rows(Table::Contacts);
        let contacts: Vec<&Value> =
            rows.iter().filter(|row| row["sk"]["S"] == "C" && is_of(row, tenant)).collect();
        for (field, letter) in [("email", "E"), ("cellphone", "P"), ("externalId", "K")] {
            let mut held: BTreeMap<String, &str> = BTreeMap::new();
            // A number under which the provider knows the contact is one of its numbers, too.
            let known_as = |contact: &Value| {
                let digits = text(&contact["waId"]).filter(|_| field == "cellphone")?;
                Some(format!("+{digits}"))
            };
            let values = contacts.iter().flat_map(|contact| {
                let shown = text(&contact[field]).map(str::to_owned);
                shown.into_iter().chain(known_as(contact)).map(move |value| (value, id_of(contact)))
            });
            for (value, id) in values {
                let Some(id) = id else { continue };
                let key = match field {
                    "externalId" => Ok(value),
                    "email" => Email::parse(&value).map(|email| email.key().as_str().to_owned()),
                    _ => Cellphone::parse(&value).map(|number| number.key().as_str().to_owned()),
                };
                let value = key.expect("an address, a number or an id");
                if held.insert(value.clone(), id).is_some() {
                    self.breaks(format!("two contacts of tenant {} have {value}", tenant.number));
                }
            }
            let prefix = format!("{}#{letter}#", tenant.workspace);
            let of_rows: BTreeMap<String, &str> = rows
                .iter()
                .filter(|row| row["sk"]["S"] == "U")
                .filter_map(|row| {
                    let value = text(&row["pk"])?.strip_prefix(&prefix)?.to_owned();
                    Some((value, text(&row["contactId"])?))
                })
                .collect();
            if of_rows != held {
                self.breaks(format!("the rows of {field} are {of_rows:?}, the contacts {held:?}"));
            }
        }
    }

    /// The versions of a setting count the changes that were accepted, so none of them was lost.
    async fn check_versions(&self, tenant: &Tenant) {
        let now = Self::versions(&self.world, tenant).await;
        for (edit, Edits { accepted, unknown }) in tenant.ledger.borrow().edits.clone() {
            let made = now[&edit] - self.versions[tenant.number][&edit];
            let made = usize::try_from(made).unwrap_or_default();
            // The receiver of a switched endpoint and its operator change it too.
            let is_alone = edit != Edit::Endpoint || !tenant.is_switched;
            if made < accepted || (made > accepted + unknown && is_alone) {
                self.breaks(format!("{edit:?}: {accepted} accepted, {unknown} unknown, {made} versions"));
            }
        }
    }

    /// The last choice of each number holds, unless its person has other numbers.
    async fn check_choices(&self, tenant: &Tenant) {
        let ledger = tenant.ledger.borrow().clone();
        let numbers: BTreeSet<&String> = ledger.choices.iter().map(|(number, _, _)| number).collect();
        for number in numbers {
            let of_number = || ledger.choices.iter().filter(|(of, _, _)| of == number);
            let Some(latest) = of_number().map(|(_, at, _)| *at).max() else { continue };
            if ledger.moved.contains(number) {
                continue;
            }
            // Of two in one second, the opt-out holds.
            let chose_out = of_number().any(|(_, at, choice)| *at == latest && *choice == Choice::Out);
            let cellphone = Cellphone::parse(number).expect("a number");
            let is_out = self.world.db.store().opted_out(tenant.workspace, &cellphone).await.expect("a read");
            if is_out != chose_out {
                let choices: Vec<_> = of_number().map(|(_, at, choice)| (at, choice)).collect();
                self.breaks(format!("{number} is opted out: {is_out}, after {choices:?}"));
            }
        }
    }

    /// The messages of each conversation have the numbers from 1 on, each once. If a lane counts all of them, it counts
    /// rightly. The provider's ids lead to one message each.
    fn check_numbers(&self, tenant: &Tenant, messages: &[Value]) {
        let number = |value: &Value| value["N"].as_str().and_then(|text| text.parse::<u64>().ok());
        let own = || messages.iter().filter(|row| is_of(row, tenant));
        for lane in self.world.db.rows_from(Table::Messages, "L").iter().filter(|row| is_of(row, tenant)) {
            let in_it: Vec<&Value> = own().filter(|row| row["pk"] == lane["pk"]).collect();
            let mut numbers: Vec<u64> = in_it.iter().filter_map(|row| number(&row["seq"])).collect();
            numbers.sort_unstable();
            let taken = number(&lane["seq"]).unwrap_or_default();
            if numbers != (1..=taken).collect::<Vec<_>>() {
                self.breaks(format!("a conversation has the numbers {numbers:?}: {lane}"));
            }
            let counts =
                ["inbound", "outbound", "internal"].map(|name| number(&lane[name]).unwrap_or_default());
            let times: BTreeSet<&str> = in_it.iter().filter_map(|row| text(&row["createdAt"])).collect();
            let time = |name: &str| {
                let millis = lane[name]["N"].as_str().and_then(|text| text.parse().ok());
                millis.map(|millis| domain::Timestamp::from_millis(millis).to_string())
            };
            let is_counted = time("firstAt").as_deref() == times.first().copied()
                && time("lastAt").as_deref() == times.last().copied();
            if counts.iter().sum::<u64>() > taken || (counts.iter().sum::<u64>() == taken && !is_counted) {
                self.breaks(format!("a lane counts {counts:?} of {taken}, {times:?}: {lane}"));
            }
        }
        let mut known: BTreeMap<String, &str> = BTreeMap::new();
        for row in own() {
            let Some(id) = text(&row["id"]) else { continue };
            for part in row["parts"]["L"].as_array().into_iter().flatten() {
                let Some(wamid) = text(&part["M"]["providerMessageId"]) else { continue };
                if let Some(other) = known.insert(wamid.to_owned(), id).filter(|other| *other != id) {
                    self.breaks(format!("{wamid} is the id of {other} and {id}"));
                }
            }
        }
        for row in self.world.db.rows_from(Table::Messages, "P").iter().filter(|row| is_of(row, tenant)) {
            let Some((_, wamid)) = text(&row["pk"]).and_then(|pk| pk.split_once("#P#")) else { continue };
            let leads_to = text(&row["messageId"]);
            if known.get(wamid).is_some_and(|id| leads_to.is_some_and(|to| to != *id)) {
                self.breaks(format!("{wamid} leads to another message than {:?}: {row}", known.get(wamid)));
            }
        }
    }

    /// Every change's event arrived: the creation of everything, and the last state of each message.
    fn check_events(&self, tenant: &Tenant, messages: &[Value]) {
        let events = self.receivers.acknowledged(&tenant.url);
        let got = |kind: &str, id: &str| {
            events.iter().any(|event| event.body["eventType"] == kind && event.body["payload"]["id"] == id)
        };
        let conversations = self.world.db.rows_from(Table::Conversations, "C");
        let contacts = self.world.db.rows_from(Table::Contacts, "C");
        let rows = [("contact", &contacts[..]), ("conversation", &conversations[..]), ("message", messages)];
        for (kind, rows) in rows {
            for row in rows.iter().filter(|row| is_of(row, tenant) && row["kind"]["S"] == kind) {
                let Some(id) = id_of(row) else { continue };
                if !got(&format!("{kind}.created"), id) {
                    self.breaks(format!("no event of the creation of {kind} {id}"));
                }
            }
        }
        for (text, files) in &tenant.ledger.borrow().attached {
            let ledger = tenant.ledger.borrow();
            let Some((id, _)) = ledger.messages.get(text) else { continue };
            let is_told = events.iter().any(|event| {
                event.body["payload"]["id"] == id.as_str()
                    && event.body["payload"]["mediaIds"] == json!(files)
            });
            if !is_told {
                self.breaks(format!("no event of message {id} with {files:?}"));
            }
        }
        // Every change that was accepted.
        for (kind, field, value) in &tenant.ledger.borrow().changes {
            let is_told = events.iter().any(|event| {
                let payload = &event.body["payload"];
                let mut attributes = payload["customAttributes"].as_array().into_iter().flatten();
                event.body["eventType"] == *kind
                    && (payload[field] == value.as_str()
                        || attributes.any(|attribute| attribute["values"] == json!([value])))
            });
            if !is_told {
                self.breaks(format!("no {kind} with {field} {value}"));
            }
        }
        // Every recorded event arrived, except those about the endpoint itself, which its other endpoints get, and tests of others.
        let arrived: BTreeSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
        for row in self.world.db.rows_from(Table::Webhooks, "V") {
            let pk = text(&row["pk"]).unwrap_or_default();
            if let Some(id) = pk.strip_prefix(&format!("{}#V#", tenant.workspace))
                && !arrived.contains(id)
                && !text(&row["eventType"]).is_some_and(|kind| kind.starts_with("webhook."))
            {
                self.breaks(format!("event {id} was recorded and did not arrive"));
            }
        }
    }

    /// Every conversation and contact is in its list exactly once, and is found.
    async fn check_lists(&self, tenant: &Tenant) {
        for (function, file, table, kind) in [
            ("conversations", "conversations-list.json", Table::Conversations, "conversation"),
            ("contacts", "contacts-list.json", Table::Contacts, "contact"),
        ] {
            let listed = self.all_pages(tenant, function, file, &[]).await;
            let rows = self.world.db.rows_from(table, "C");
            let mut stored: Vec<String> = rows
                .iter()
                .filter(|row| is_of(row, tenant) && row["kind"]["S"] == kind)
                .filter_map(|row| id_of(row).map(str::to_owned))
                .collect();
            let mut sorted = listed.clone();
            sorted.sort();
            stored.sort();
            if sorted != stored {
                self.breaks(format!("the list of {function} is {sorted:?}, stored are {stored:?}"));
            }
        }
        for customer in &tenant.customers {
            let found =
                self.all_pages(tenant, "contacts", "contacts-list.json", &[("search", customer)]).await;
            let rows = self.world.db.rows_from(Table::Contacts, "C");
            let holders: Vec<&str> = rows
                .iter()
                .filter(|row| is_of(row, tenant) && text(&row["cellphone"]) == Some(customer.as_str()))
                .filter_map(id_of)
                .collect();
            if found != holders {
                self.breaks(format!("a search for {customer} finds {found:?}, it is {holders:?}"));
            }
        }
    }

    /// The list of each conversation's messages is complete and in order, and so is that of each user's conversations.
    async fn check_lists_of_messages(&self, tenant: &Tenant, rows: &[Value]) {
        let mut by_conversation: BTreeMap<String, Vec<(Place<'_>, String)>> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_of(row, tenant)) {
            let number = row["seq"]["N"].as_str().and_then(|text| text.parse().ok());
            let place = text(&row["createdAt"]).zip(number);
            let Some((of, (place, id))) = of_key(row).zip(place.zip(text(&row["id"]))) else { continue };
            by_conversation.entry(of.to_owned()).or_default().push((place, id.to_owned()));
        }
        for (conversation, mut stored) in by_conversation {
            stored.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
            let stored: Vec<String> = stored.into_iter().map(|(_, id)| id).collect();
            let event = tenant.event("messages-list.json").path("conversationId", &conversation);
            let listed = self.pages_of("messages", event, &[]).await;
            if listed != stored {
                self.breaks(format!("the messages of {conversation} are {stored:?}, its list is {listed:?}"));
            }
        }
        for agent in ["agent0@example.com", "agent1@example.com"] {
            let found = self.world.db.rows_from(Table::Conversations, "C");
            let by_email = UserRef::Email(Email::parse(agent).expect("an address"));
            let user = self.world.db.store().user_by_ref(tenant.workspace, &by_email).await.expect("a read");
            let Some(user) = user else { continue };
            let user = user.id.to_string();
            let mut stored: Vec<String> = found
                .iter()
                .filter(|row| is_of(row, tenant) && row["kind"]["S"] == "conversation")
                .filter(|row| row["internals"].to_string().contains(&user))
                .filter_map(|row| text(&row["id"]).map(str::to_owned))
                .collect();
            let filter = [("internalUserIdentifier", agent), ("internalIdentifierType", "EMAIL")];
            let event = tenant.event("conversations-list.json");
            let mut listed = self.pages_of("conversations", event, &filter).await;
            stored.sort();
            listed.sort();
            if listed != stored {
                self.breaks(format!("the conversations of {agent} are {stored:?}, the list is {listed:?}"));
            }
        }
    }

    /// The ids of all pages of a list.
    async fn all_pages(
        &self,
        tenant: &Tenant,
        function: &str,
        file: &str,
        query: &[(&str, &str)],
    ) -> Vec<String> {
        self.pages_of(function, tenant.event(file), query).await
    }

    pub(crate) async fn pages_of(
        &self,
        function: &str,
        of: GatewayEvent,
        query: &[(&str, &str)],
    ) -> Vec<String> {
        let (mut ids, mut cursor) = (vec![], String::new());
        for _ in 0..100 {
            sleep(Duration::from_secs(1)).await;
            let mut query = query.to_vec();
            query.push(("pageSize", "4"));
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let event = of.clone().query(&query);
            let answer = match self.persists(function, event, false).await {
                Some(answer) if answer.status == 200 => answer,
                other => {
                    self.breaks(format!("a list of {function} cannot be read: {other:?}"));
                    return ids;
                }
            };
            let items = answer.json[function].as_array().cloned().unwrap_or_default();
            ids.extend(items.iter().filter_map(|item| item["id"].as_str().map(str::to_owned)));
            cursor = answer.json["cursor"].as_str().unwrap_or_default().to_owned();
            if cursor.is_empty() {
                return ids;
            }
        }
        self.breaks(format!("the list of {function} does not end"));
        ids
    }
}
