//! Who uses the service: programs of the tenants, visitors of their pages, customers, and WhatsApp's webhooks.

use std::rc::Rc;
use std::time::Duration;

use domain::choices::Choice;
use harness::{Answer, GatewayEvent, World};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::time::sleep;

use crate::customers::is_customer;
use crate::files::unsigned;
use crate::merges::may_merge;
use crate::persons::NUMBER;
use crate::random::Random;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

impl Simulation {
    /// Starts all clients. [`Simulation::join`] waits for those named `client`. `of_former` decides who had a number before.
    pub(crate) fn start_clients(self: &Rc<Self>, of_former: &Random) {
        for tenant in 0..self.tenants.len() {
            for _ in 0..*self.random.one_of(&[1, 1, 2]) {
                let (this, steps) = (self.clone(), self.random.within(2, 5));
                self.spawn("client", async move { this.program(tenant, steps).await });
            }
            let (this, steps) = (self.clone(), self.random.below(3));
            self.spawn("client", async move { this.visitors(tenant, steps).await });
            let (this, steps) = (self.clone(), self.random.below(4));
            self.spawn("client", async move { this.customers(tenant, steps).await });
        }
        self.start_persons(of_former);
        self.start_crowds();
        let this = self.clone();
        self.spawn("webhooks", async move { this.report_webhooks().await });
    }

    /// A while between two steps of a client: mostly short, so that steps overlap.
    pub(crate) async fn pause(&self) {
        let most = *self.random.one_of(&[50, 2_000, 15_000, 90_000]);
        sleep(Duration::from_millis(self.random.within(1, most))).await;
    }

    /// A program of a tenant.
    async fn program(&self, tenant: usize, steps: u64) {
        let tenant = &self.tenants[tenant];
        for _ in 0..steps {
            self.pause().await;
            let is_empty = tenant.ledger.borrow().conversations.is_empty();
            match self.random.below(16) {
                0..2 => self.opens(tenant).await,
                _ if is_empty => self.opens(tenant).await,
                2..7 => self.says(tenant).await,
                7 => self.names(tenant).await,
                8 => self.renames(tenant).await,
                9..11 => self.attaches(tenant).await,
                11 => self.downloads(tenant).await,
                12..14 => self.describes(tenant).await,
                14 => self.consults(tenant).await,
                _ => self.looks(tenant).await,
            }
        }
    }

    /// Repeats a request until it is answered, and sometimes afterwards. A repeat with an idempotency key gets the same
    /// answer.
    pub(crate) async fn persists(
        &self,
        function: &str,
        event: GatewayEvent,
        is_keyed: bool,
    ) -> Option<Answer> {
        let mut first: Option<Answer> = None;
        // When faults are over, only the limiter still refuses: for as long as clocks are apart.
        let tries = if self.faults.are_over() { 100 } else { 8 };
        for _ in 0..tries {
            let number = self.random.next();
            let answer = self.request(function, event.clone().request_id(&format!("r-{number:x}"))).await;
            match answer.filter(|answer| answer.status < 500 && answer.status != 429) {
                Some(answer) => {
                    if let Some(first) = &first
                        && (first.status, unsigned(first)) != (answer.status, unsigned(&answer))
                    {
                        self.breaks(format!("a repeat is answered differently: {first:?} {answer:?}"));
                    }
                    let is_success = answer.status < 300;
                    first = Some(answer);
                    if !is_keyed || !is_success || !self.random.happens(250) {
                        break;
                    }
                }
                None if first.is_some() => break,
                None => {}
            }
            self.pause().await;
        }
        first
    }

    pub(crate) fn keyed(&self, event: GatewayEvent) -> GatewayEvent {
        event.header("idempotency-key", &format!("key-{:x}", self.random.next()))
    }

    async fn opens(&self, tenant: &Tenant) {
        let name = format!("conversation {:x} of {}", self.random.next(), tenant.number);
        let mut customers = vec![self.random.one_of(&tenant.customers)];
        let second = self.random.one_of(&tenant.customers);
        if self.random.happens(300) && !customers.contains(&second) {
            customers.push(second);
        }
        let externals: Vec<Value> = customers
            .iter()
            .map(|number| {
                json!({
                    "identifier": number, "identifierType": "PHONE", "messageProviderType": "WHATSAPP",
                    "providerChannelId": tenant.line, "brandId": World::BRAND,
                })
            })
            .collect();
        let body = json!({ "name": name, "participants": { "externals": externals, "internals": [] } });
        tenant.ledger.borrow_mut().opened.insert(name.clone(), None);
        let event = self.keyed(tenant.event("conversations-create.json").body(&body));
        let Some(answer) = self.persists("conversations", event, true).await else { return };
        let opened = self.is_opened(tenant, &name, &answer);
        tenant.ledger.borrow_mut().conversations.extend(opened);
    }

    /// Returns the id of a conversation that was accepted.
    pub(crate) fn is_opened(&self, tenant: &Tenant, name: &str, answer: &Answer) -> Option<String> {
        if answer.status != 201 {
            self.breaks(format!("a conversation is refused: {}", answer.text));
            return None;
        }
        let id = answer.json["id"].as_str().unwrap_or_default().to_owned();
        let mut ledger = tenant.ledger.borrow_mut();
        ledger.opened.insert(name.to_owned(), Some(id.clone()));
        Some(id)
    }

    /// One of the conversations that requests created.
    pub(crate) fn some_conversation(&self, tenant: &Tenant) -> Option<String> {
        let ledger = tenant.ledger.borrow();
        (!ledger.conversations.is_empty()).then(|| self.random.one_of(&ledger.conversations).clone())
    }

    async fn says(&self, tenant: &Tenant) {
        if let Some(conversation) = self.some_conversation(tenant) {
            self.say(tenant, &conversation).await;
        }
    }

    /// Sends a text. Returns it.
    pub(crate) async fn say(&self, tenant: &Tenant, conversation: &str) -> String {
        let (text, body) = self.saying(tenant, conversation);
        tenant.ledger.borrow_mut().posted.insert(text.clone(), 1);
        let event = self.keyed(tenant.event("messages-create.json").body(&body));
        if let Some(answer) = self.persists("messages", event, true).await {
            self.is_said(tenant, text.clone(), conversation, &answer);
        }
        text
    }

    /// A text, and the request that sends it.
    pub(crate) fn saying(&self, tenant: &Tenant, conversation: &str) -> (String, Value) {
        let text = format!("text {:x} of {}", self.random.next(), tenant.number);
        let body = json!({
            "conversationId": conversation, "messageBody": text, "mediaIds": [],
            "enableExternalBroadcast": self.random.happens(850),
        });
        (text, body)
    }

    pub(crate) fn is_said(&self, tenant: &Tenant, text: String, conversation: &str, answer: &Answer) {
        if answer.status == 201 {
            let id = answer.json["messageId"].as_str().unwrap_or_default().to_owned();
            tenant.ledger.borrow_mut().messages.insert(text, (id, conversation.to_owned()));
        } else {
            self.breaks(format!("a message is refused: {}", answer.text));
        }
    }

    /// One of the tenant's contacts, but never the person whom the operator may erase, or one whom a merge may take.
    pub(crate) async fn some_contact(&self, tenant: &Tenant) -> Option<String> {
        let contacts = self.contacts(tenant, &[]).await;
        let contacts: Vec<&Value> = contacts
            .iter()
            .filter(|contact| contact["cellphone"] != NUMBER && !may_merge(contact) && !is_customer(contact))
            .collect();
        if contacts.is_empty() {
            return None;
        }
        self.random.one_of(&contacts)["id"].as_str().map(str::to_owned)
    }

    /// A page of the tenant's contacts.
    pub(crate) async fn contacts(&self, tenant: &Tenant, query: &[(&str, &str)]) -> Vec<Value> {
        let event = tenant.event("contacts-list.json").query(query);
        let Some(page) = self.persists("contacts", event, false).await else { return vec![] };
        self.is_own(tenant, &page);
        page.json["contacts"].as_array().cloned().unwrap_or_default()
    }

    /// Gives a contact a name and an e-mail address, of which there are few.
    async fn names(&self, tenant: &Tenant) {
        let Some(contact) = self.some_contact(tenant).await else { return };
        let email = format!("someone{}@example.com", self.random.below(3));
        let name = format!("Name{:x}", self.random.next());
        let body = json!({ "firstName": name, "email": email });
        let event = tenant.event("contacts-update.json").path("contactId", contact).body(&body);
        let Some(answer) = self.persists("contacts", event, false).await else { return };
        match answer.status {
            200 => tenant.ledger.borrow_mut().changes.push(("contact.updated", "firstName", name)),
            // Another contact has the address.
            409 => {}
            _ => self.breaks(format!("a change of a contact is refused: {}", answer.text)),
        }
    }

    async fn renames(&self, tenant: &Tenant) {
        let Some(conversation) = self.some_conversation(tenant) else { return };
        let name = format!("renamed {:x}", self.random.next());
        let body = json!({ "name": name });
        let event = tenant.event("conversations-update.json").path("conversationId", conversation);
        let Some(answer) = self.persists("conversations", event.body(&body), false).await else { return };
        match answer.status {
            200 => tenant.ledger.borrow_mut().changes.push(("conversation.updated", "name", name)),
            _ => self.breaks(format!("a change of a conversation is refused: {}", answer.text)),
        }
    }

    /// Reads a list, and tries to read what belongs to the other tenant.
    async fn looks(&self, tenant: &Tenant) {
        let event = tenant.event("conversations-list.json").query(&[("pageSize", "3")]);
        if let Some(page) = self.persists("conversations", event, false).await {
            self.is_own(tenant, &page);
        }
        let known = self.other(tenant).ledger.borrow().conversations.first().cloned();
        if let Some(foreign) = known {
            let event = tenant.event("conversations-get.json").path("conversationId", foreign);
            if let Some(answer) = self.persists("conversations", event, false).await
                && answer.status != 404
            {
                self.breaks(format!("a tenant sees another's conversation: {}", answer.text));
            }
        }
    }

    /// The other tenant.
    pub(crate) fn other(&self, tenant: &Tenant) -> &Tenant {
        &self.tenants[1 - tenant.number]
    }

    /// Checks that an answer mentions no other workspace.
    pub(crate) fn is_own(&self, tenant: &Tenant, answer: &Answer) {
        let other = self.other(tenant).workspace.to_string();
        if answer.status != 200 || answer.text.contains(&other) {
            self.breaks(format!("a list of tenant {}: {}", tenant.number, answer.text));
        }
    }

    /// Visitors of the landing page ask to be contacted, some more than once.
    async fn visitors(&self, tenant: usize, steps: u64) {
        let tenant = &self.tenants[tenant];
        for _ in 0..steps {
            self.pause().await;
            let number = format!("+3460022233{}", self.random.below(3));
            let token = format!("token {:x}", self.random.next());
            self.asks(tenant, &number, &token, false).await;
        }
    }

    /// Sends a lead until it is answered. Returns its id if it is accepted.
    pub(crate) async fn asks(
        &self,
        tenant: &Tenant,
        number: &str,
        token: &str,
        may_be_refused: bool,
    ) -> Option<String> {
        let body = json!({
            "workspaceId": tenant.workspace.to_string(),
            "captureKey": tenant.capture_key,
            "cellphone": number,
            "name": "Ana Sample",
            "landingUri": "https://www.example.com/spring",
            "consent": { "status": "GRANTED" },
            "recaptchaToken": token,
        });
        for attempt in 0..3 {
            let event = GatewayEvent::of("leads-accept.json")
                .query(&[("workspaceId", &tenant.workspace.to_string())])
                .request_id(&format!("lead-{:x}", self.random.next()))
                .body(&body);
            let Some(answer) = self.lead(event).await else { continue };
            let json: Value =
                serde_json::from_str(answer["body"].as_str().unwrap_or_default()).unwrap_or_default();
            match answer["statusCode"].as_u64() {
                Some(202) => {
                    let id = json["requestId"].as_str().unwrap_or_default().to_owned();
                    tenant.ledger.borrow_mut().leads.insert(id.clone(), number.to_owned());
                    return Some(id);
                }
                Some(429 | 500..) => self.pause().await,
                _ if attempt > 0 || may_be_refused => return None,
                _ => {
                    self.breaks(format!("a lead is refused: {answer}"));
                    return None;
                }
            }
        }
        None
    }

    /// Customers write to the tenant's line.
    async fn customers(&self, tenant: usize, steps: u64) {
        let tenant = &self.tenants[tenant];
        for _ in 0..steps {
            self.pause().await;
            let number = self.random.one_of(&tenant.customers).clone();
            let digits = number.trim_start_matches('+');
            if self.random.happens(120) {
                self.moves(tenant, digits);
                continue;
            }
            let choice = self.random.happens(80).then_some(Choice::Out);
            self.writes(tenant, &number, choice, 0);
        }
    }

    /// A customer writes a text or a choice about templates, the later the greater `later` is. All were written some
    /// seconds ago: what comes from the future of a process's clock counts as written when it arrives. Returns the text.
    pub(crate) fn writes(&self, tenant: &Tenant, number: &str, choice: Option<Choice>, later: u64) -> String {
        let digits = number.trim_start_matches('+');
        let at = self.now().as_seconds() - 15 + i64::try_from(later).unwrap_or_default();
        let mut ledger = tenant.ledger.borrow_mut();
        let text = match choice {
            Some(choice) => {
                ledger.choices.push((number.to_owned(), at, choice));
                if choice == Choice::Out { "STOP" } else { "START" }.to_owned()
            }
            None => {
                let text = format!("answer {:x} to {}", self.random.next(), tenant.number);
                ledger.inbound.push(text.clone());
                text
            }
        };
        self.whatsapp.tells(json!({
            "line": tenant.line,
            "contacts": [{ "wa_id": digits, "profile": { "name": "Ana Sample" } }],
            "messages": [{
                "id": format!("wamid.in.{:x}", self.random.next()), "from": digits, "type": "text",
                "timestamp": at.to_string(), "text": { "body": text },
            }],
        }));
        text
    }

    /// A customer moves to another number.
    pub(crate) fn moves(&self, tenant: &Tenant, from: &str) {
        tenant.ledger.borrow_mut().moved.push(format!("+{from}"));
        let to = format!("3460099911{}", self.random.below(5));
        self.whatsapp.tells(json!({
            "line": tenant.line,
            "contacts": [],
            "messages": [{
                "id": format!("wamid.in.{:x}", self.random.next()), "from": from, "type": "system",
                "timestamp": self.now().as_seconds().to_string(),
                "system": { "type": "user_changed_number", "wa_id": to },
            }],
        }));
    }

    /// WhatsApp tells by webhook what happened: in any order, and each until it is received.
    async fn report_webhooks(self: Rc<Self>) {
        loop {
            for change in self.whatsapp.take_untold() {
                // A crowd of processes gets the same webhook.
                let is_doubled = self.faults.levels.crowd > 0 && self.random.happens(300);
                for change in vec![change; 1 + usize::from(is_doubled)] {
                    let this = self.clone();
                    self.spawn("webhook", async move { this.tell_of(change).await });
                }
            }
            self.whatsapp.news.notified().await;
        }
    }

    async fn tell_of(&self, mut change: Value) {
        self.busy.set(self.busy.get() + 1);
        let now = self.now().as_seconds().to_string();
        for status in change["statuses"].as_array_mut().into_iter().flatten() {
            status["timestamp"] = json!(now);
        }
        let (line, field) = (change["line"].take(), change["field"].take());
        let field = field.as_str().unwrap_or("messages");
        change["metadata"] = json!({ "phone_number_id": line });
        let entry = json!({ "id": World::ACCOUNT, "changes": [{ "field": field, "value": change }] });
        let body = json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string();
        let mut mac =
            Hmac::<Sha256>::new_from_slice(World::APP_SECRET.as_bytes()).expect("HMAC takes every key");
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", domain::encoding::hex(&mac.finalize().into_bytes()));
        let event = GatewayEvent::of("provider-events-receive.json")
            .path("appId", World::APP)
            .raw_body(&body)
            .header("X-Hub-Signature-256", &signature);
        loop {
            let most = *self.random.one_of(&[200, 3_000, 60_000]);
            sleep(Duration::from_millis(self.random.within(1, most))).await;
            // WhatsApp repeats a webhook until it is answered with 200, and sometimes once more.
            if self.webhook(event.clone()).await && !self.faults.strikes(self.faults.levels.queue) {
                break;
            }
        }
        self.busy.set(self.busy.get() - 1);
    }
}
