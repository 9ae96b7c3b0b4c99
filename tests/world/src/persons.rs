//! A person whom the operator erases in the end: nothing of them is left.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::MediaId;
use serde_json::{Value, json};
use store::Table;
use tokio::time::sleep;

use crate::commands::Ran;
use crate::random::Random;
use crate::rows::{id_of, text};
use crate::simulation::Simulation;
use crate::tenant::{Tenant, is_of};

/// The number of the person, who is a customer of both tenants.
pub(crate) const NUMBER: &str = "+34600777880";
/// The number of somebody who had that number before.
const OTHER_NUMBER: &str = "+34600777881";

impl Simulation {
    /// In some worlds, a tenant deals with a person whom it may have to erase. Somebody else may have had the number before.
    pub(crate) fn start_persons(self: &Rc<Self>, of_former: &Random) {
        for tenant in 0..self.tenants.len() {
            let (appears, is_erased) = (self.random.happens(200), self.random.happens(800));
            let has_former = of_former.happens(400);
            let this = self.clone();
            self.spawn("client", async move {
                let tenant = &this.tenants[tenant];
                let appears = appears && (!has_former || this.gives_up_number(tenant).await);
                if appears {
                    this.deals_with_person(tenant).await;
                }
                if appears && is_erased {
                    this.pause().await;
                    this.exports(tenant).await;
                    this.erases(tenant).await;
                }
            });
        }
    }

    /// Somebody is dialled at the number, and moves to another one. Returns whether that is certain.
    async fn gives_up_number(&self, tenant: &Tenant) -> bool {
        let (name, body) = self.opening(tenant, NUMBER);
        tenant.ledger.borrow_mut().opened.insert(name.clone(), None);
        let event = self.keyed(tenant.event("conversations-create.json").body(&body));
        let answer = self.persists("conversations", event, true).await;
        let Some(conversation) = answer.and_then(|answer| self.is_opened(tenant, &name, &answer)) else {
            return false;
        };
        self.say(tenant, &conversation).await;
        let found = self.contacts(tenant, &[("search", NUMBER)]).await;
        let Some(contact) = found.first().and_then(|contact| contact["id"].as_str()) else { return false };
        let body = json!({ "cellphone": OTHER_NUMBER });
        let event = tenant.event("contacts-update.json").path("contactId", contact).body(&body);
        let answer = self.persists("contacts", event, false).await;
        tenant.ledger.borrow_mut().person.former = vec![contact.to_owned(), conversation];
        answer.is_some_and(|answer| answer.status == 200)
    }

    /// What is known about the person comes from everywhere: conversation, messages, files, customer, contact and lead.
    async fn deals_with_person(&self, tenant: &Tenant) {
        let (name, body) = self.opening(tenant, NUMBER);
        tenant.ledger.borrow_mut().opened.insert(name.clone(), None);
        let event = self.keyed(tenant.event("conversations-create.json").body(&body));
        let answer = self.persists("conversations", event, true).await;
        let conversation = answer.and_then(|answer| self.is_opened(tenant, &name, &answer));
        tenant.ledger.borrow_mut().person.words.push(name);
        if let Some(conversation) = conversation {
            let files = self.uploads(tenant, true).await;
            let mut words = vec![self.say(tenant, &conversation).await];
            if !files.is_empty() {
                words.push(self.attach(tenant, &conversation, &files).await);
            }
            let mut ledger = tenant.ledger.borrow_mut();
            ledger.person.conversation = Some(conversation);
            // A file that no message refers to is nobody's. Whether a message without an answer refers to them is unknown.
            match words.last() {
                Some(text) if ledger.messages.contains_key(text) => ledger.person.files.extend(files),
                _ => ledger.files.retain(|id, _| !files.contains(id)),
            }
            ledger.person.words.extend(words);
        }
        if self.random.happens(500) {
            self.pause().await;
            let text = self.writes(tenant, NUMBER, None, 0);
            tenant.ledger.borrow_mut().person.words.push(text);
        }
        if self.random.happens(300) {
            let token = format!("token {:x}", self.random.next());
            self.asks(tenant, NUMBER, &token, false).await;
        }
        let found = self.contacts(tenant, &[("search", NUMBER)]).await;
        if let Some(contact) = found.first().and_then(|contact| contact["id"].as_str()) {
            let name = format!("Person{:x}", self.random.next());
            let email = format!("{}@example.com", name.to_lowercase());
            let id = format!("crm of {name}");
            let body = json!({ "firstName": name, "email": email, "externalId": id });
            let event = tenant.event("contacts-update.json").path("contactId", contact).body(&body);
            self.persists("contacts", event, false).await;
            let mut ledger = tenant.ledger.borrow_mut();
            ledger.person.words.extend([name, email, id]);
            ledger.person.contact = Some(contact.to_owned());
        }
    }

    /// An export of the person has no word of others: of customers, of the former holder of the number, of other conversations.
    async fn exports(&self, tenant: &Tenant) {
        let exported = loop {
            match self.exported(tenant).await {
                Ok(exported) => break exported,
                Err(Ran::Refused(code)) if code == "NOBODY_FOUND" => return,
                Err(Ran::Refused(code)) => return self.breaks(format!("an export is refused: {code}")),
                Err(_) => self.pause().await,
            }
        };
        let ledger = tenant.ledger.borrow().clone();
        let own = |word: &&String| ledger.person.words.contains(word);
        let others = ledger.posted.keys().chain(ledger.opened.keys()).chain(&ledger.inbound);
        let others = others.chain(ledger.changes.iter().map(|(_, _, value)| value)).filter(|word| !own(word));
        let numbers = ledger.customers.iter().flat_map(|customer| customer.phone.forms());
        let numbers: Vec<String> = numbers.chain([OTHER_NUMBER.to_owned()]).collect();
        let ids = ledger.person.former.iter();
        for word in
            others.chain(&numbers).chain(ids).filter(|word| exported.contains(word.trim_start_matches('+')))
        {
            self.breaks(format!("the export of a person of tenant {} has {word}", tenant.number));
        }
    }

    /// Exports the person. Returns what the export says.
    async fn exported(&self, tenant: &Tenant) -> Result<String, Ran> {
        let folder = std::env::temp_dir().join(format!("world-export-{:x}", self.random.next()));
        let output = folder.display().to_string();
        let ran =
            self.command(tenant, &["person", "export", "--cellphone", NUMBER, "--output", &output]).await;
        let exported = std::fs::read_to_string(folder.join("person.json"));
        // An export that failed early made no folder.
        _ = std::fs::remove_dir_all(&folder);
        match (ran, exported) {
            (Ran::Done(_), Ok(exported)) => Ok(exported),
            (ran, _) => Err(ran),
        }
    }

    /// Asks for the erasure. From now on the tenant expects nothing of the person.
    async fn erases(&self, tenant: &Tenant) {
        tenant.ledger.borrow_mut().forget(NUMBER);
        self.erase(tenant).await;
    }

    /// Repeats the command until it is answered. Returns the state of the erasure.
    async fn erase(&self, tenant: &Tenant) -> String {
        const TRIES: u32 = 2_000;
        for _ in 0..TRIES {
            match self.command(tenant, &["person", "erase", "--cellphone", NUMBER, "--yes"]).await {
                Ran::Done(receipt) => return receipt["state"].as_str().unwrap_or_default().to_owned(),
                // Nothing about the person was ever accepted, or the customer's message was not received yet.
                Ran::Refused(code) if code == "NOBODY_FOUND" => return code,
                Ran::Refused(code) => {
                    self.breaks(format!("an erasure is refused: {code}"));
                    return code;
                }
                Ran::Unknown => self.pause().await,
            }
        }
        self.breaks(format!("the request for an erasure of tenant {} is never answered", tenant.number));
        String::new()
    }

    /// The ends of the erasures, which only the sweeper helps. Returns whether there are any.
    pub(crate) async fn finish_erasures(&self) -> bool {
        let erased: Vec<&Tenant> =
            self.tenants.iter().filter(|tenant| tenant.ledger.borrow().person.is_erased).collect();
        if erased.is_empty() {
            return false;
        }
        // What was received after an erasure found nobody, or was done, is erased by another one.
        const ERASURES: u32 = 3;
        for tenant in erased {
            let mut state = String::new();
            for _ in 0..ERASURES {
                self.erase(tenant).await;
                for _ in 0..20 {
                    sleep(Duration::from_secs(60)).await;
                    self.sweep().await;
                }
                state = self.erase(tenant).await;
                if matches!(state.as_str(), "DONE" | "NOBODY_FOUND") {
                    break;
                }
            }
            if !matches!(state.as_str(), "DONE" | "NOBODY_FOUND") {
                self.breaks(format!("an erasure of tenant {} ends as {state}", tenant.number));
            }
        }
        true
    }

    /// Each write of an erasure was to a row of a contact that the erasure names, whoever else has or had the number. The
    /// contacts of merges are not strangers to jobs, so their rows are passed over.
    async fn check_taken(&self, tenant: &Tenant) {
        let erasures = self.world.db.store().erasures(tenant.workspace).await.unwrap_or_default();
        let mut named: BTreeSet<String> =
            erasures.iter().flat_map(|erasure| &erasure.contacts).map(ToString::to_string).collect();
        let rows = self.world.db.rows(Table::Contacts);
        let contacts: BTreeSet<&str> =
            rows.iter().filter(|row| row["sk"]["S"] == "C" && is_of(row, tenant)).filter_map(id_of).collect();
        let merged = rows.iter().filter(|row| !row["mergedInto"].is_null());
        named.extend(
            merged.flat_map(|row| [id_of(row), text(&row["mergedInto"])]).flatten().map(str::to_owned),
        );
        for row in self.faults.taken().iter().filter(|row| is_of(row, tenant)) {
            let written = row.to_string();
            let stranger = contacts.iter().find(|id| !named.contains(**id) && written.contains(**id));
            if let Some(stranger) = stranger.filter(|_| !named.iter().any(|id| written.contains(id))) {
                self.breaks(format!("an erasure wrote a row of {stranger}, whom nobody named: {written}"));
            }
        }
    }

    /// Nothing is left of a person who was erased: neither in a row nor in the bucket, and the API does not know them.
    pub(crate) async fn check_person(&self, tenant: &Tenant) {
        let person = tenant.ledger.borrow().person.clone();
        if !person.is_erased {
            return;
        }
        let digits = NUMBER.trim_start_matches('+').to_owned();
        let words: Vec<String> = person.words.iter().cloned().chain([digits.clone()]).collect();
        let workspace = tenant.workspace.to_string();
        for table in Table::ALL {
            for row in self.world.db.rows(table) {
                let text = readable(&row);
                // Rows of a former holder say when the number was theirs.
                let is_former = person.former.iter().any(|former| text.contains(former));
                let is_left =
                    |word: &&String| text.contains(word.as_str()) && !(is_former && **word == digits);
                let found = words.iter().find(is_left);
                if let Some(word) = found.filter(|_| text.contains(&workspace)) {
                    self.breaks(format!("{word} of an erased person is left in {table:?}: {text}"));
                }
            }
        }
        self.check_taken(tenant).await;
        for file in &person.files {
            let media = MediaId::parse(file).expect("an id");
            if self.bucket.holds(tenant.workspace, media) {
                self.breaks(format!("file {file} of an erased person is left"));
            }
        }
        let left = self.contacts(tenant, &[("search", NUMBER)]).await;
        if !left.is_empty() {
            self.breaks(format!("an erased person is found: {left:?}"));
        }
        for (function, event, name, id) in [
            ("contacts", "contacts-get.json", "contactId", &person.contact),
            ("conversations", "conversations-get.json", "conversationId", &person.conversation),
        ] {
            let Some(id) = id else { continue };
            let answer = self.persists(function, tenant.event(event).path(name, id), false).await;
            if answer.as_ref().is_none_or(|answer| answer.status != 404) {
                self.breaks(format!("{id} of an erased person is there: {answer:?}"));
            }
        }
        let events = self.receivers.acknowledged(&tenant.url);
        let is_told = |contact: &String| {
            events.iter().any(|event| {
                event.body["eventType"] == "contact.erased" && event.body["payload"]["id"] == contact.as_str()
            })
        };
        if person.contact.is_some_and(|contact| !is_told(&contact)) {
            self.breaks(format!("tenant {} was not told of the erasure", tenant.number));
        }
    }
}

/// A row as text, with what is in its bytes.
fn readable(row: &Value) -> String {
    fn add_bytes(value: &Value, text: &mut String) {
        if let Some(bytes) = value["B"].as_str().and_then(|bytes| STANDARD.decode(bytes).ok()) {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
        for inner in value.as_object().into_iter().flatten().map(|(_, inner)| inner) {
            add_bytes(inner, text);
        }
    }
    let mut text = row.to_string();
    add_bytes(row, &mut text);
    text
}
