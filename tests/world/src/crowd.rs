//! Crowds: several clients that do the same at the same moment, with the same key, contact, number or address.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use domain::choices::Choice;
use futures::future::join_all;
use harness::{Answer, GatewayEvent, World};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::files::unsigned;
use crate::simulation::Simulation;
use crate::tenant::{FLOOD, Tenant};

impl Simulation {
    /// Starts the crowds of each tenant, if the world has them.
    pub(crate) fn start_crowds(self: &Rc<Self>) {
        if self.faults.levels.crowd == 0 {
            return;
        }
        for tenant in 0..self.tenants.len() {
            let (this, steps) = (self.clone(), self.random.within(2, 7));
            self.spawn("client", async move { this.crowd(tenant, steps).await });
        }
    }

    async fn crowd(&self, tenant: usize, steps: u64) {
        let tenant = &self.tenants[tenant];
        for _ in 0..steps {
            self.pause().await;
            match self.random.below(17) {
                0 => self.all_open_one(tenant).await,
                1 => self.all_open_with_one(tenant).await,
                2 => self.all_say_one(tenant).await,
                3 => self.all_speak_in_one(tenant).await,
                4 => self.all_change_one_contact(tenant).await,
                5 => self.all_want_one_identity(tenant).await,
                6 => self.all_change_one_conversation(tenant).await,
                7 => self.all_ask_for_one(tenant).await,
                8..11 => self.all_write_as_one(tenant).await,
                11 => self.all_operate(tenant, self.several()).await,
                12 => self.all_claim().await,
                13 => self.all_attach_one(tenant).await,
                14 => self.all_prepare_one(tenant).await,
                15 => self.all_set_up_one(tenant).await,
                _ => self.floods(tenant).await,
            }
        }
    }

    /// How many clients do the same.
    pub(crate) fn several(&self) -> usize {
        usize::try_from(self.random.within(2, self.faults.levels.crowd.max(2))).unwrap_or(2)
    }

    /// Several clients send requests at the same moment, each until it is answered.
    pub(crate) async fn all(&self, function: &str, events: Vec<GatewayEvent>, is_keyed: bool) -> Vec<Answer> {
        let one = async |event| {
            sleep(Duration::from_millis(self.random.below(20))).await;
            self.persists(function, event, is_keyed).await
        };
        join_all(events.into_iter().map(one)).await.into_iter().flatten().collect()
    }

    /// All with one idempotency key: they get one answer.
    pub(crate) fn is_one(&self, answers: &[Answer]) {
        let texts: BTreeSet<String> = answers.iter().map(unsigned).collect();
        if texts.len() > 1 {
            self.breaks(format!("one idempotency key has several answers: {texts:?}"));
        }
    }

    async fn all_open_one(&self, tenant: &Tenant) {
        let number: &String = self.random.one_of(&tenant.customers);
        let (name, body) = self.opening(tenant, number);
        tenant.ledger.borrow_mut().opened.insert(name.clone(), None);
        let event = self.keyed(tenant.event("conversations-create.json").body(&body));
        let answers = self.all("conversations", vec![event; self.several()], true).await;
        self.is_one(&answers);
        for answer in answers {
            let opened = self.is_opened(tenant, &name, &answer);
            tenant.ledger.borrow_mut().conversations.extend(opened);
        }
    }

    /// Several conversations with a customer whom the tenant may not know yet.
    async fn all_open_with_one(&self, tenant: &Tenant) {
        let number = self.stranger();
        let (names, events): (Vec<String>, Vec<GatewayEvent>) = (0..self.several())
            .map(|_| {
                let (name, body) = self.opening(tenant, &number);
                tenant.ledger.borrow_mut().opened.insert(name.clone(), None);
                (name, self.keyed(tenant.event("conversations-create.json").body(&body)))
            })
            .unzip();
        for answer in self.all("conversations", events, true).await {
            let name = names.iter().find(|name| answer.json["name"] == name.as_str());
            let opened = self.is_opened(tenant, name.map_or("", String::as_str), &answer);
            tenant.ledger.borrow_mut().conversations.extend(opened);
        }
    }

    /// The name of a conversation with this customer, and the request for it.
    pub(crate) fn opening(&self, tenant: &Tenant, number: &str) -> (String, Value) {
        let name = format!("conversation {:x} of {}", self.random.next(), tenant.number);
        let external = json!({
            "identifier": number, "identifierType": "PHONE", "messageProviderType": "WHATSAPP",
            "providerChannelId": tenant.line, "brandId": World::BRAND,
        });
        let mut body = json!({ "name": name, "participants": { "externals": [external], "internals": [] } });
        if self.random.happens(400) {
            body["teamId"] = json!(tenant.team.to_string());
        }
        (name, body)
    }

    /// A number of one of a few people.
    fn stranger(&self) -> String {
        format!("+3460044455{}", self.random.below(5))
    }

    async fn all_say_one(&self, tenant: &Tenant) {
        let Some(conversation) = self.some_conversation(tenant) else { return };
        let (text, body) = self.saying(tenant, &conversation);
        tenant.ledger.borrow_mut().posted.insert(text.clone(), 1);
        let event = self.keyed(tenant.event("messages-create.json").body(&body));
        let answers = self.all("messages", vec![event; self.several()], true).await;
        self.is_one(&answers);
        for answer in answers {
            self.is_said(tenant, text.clone(), &conversation, &answer);
        }
    }

    async fn all_speak_in_one(&self, tenant: &Tenant) {
        let Some(conversation) = self.some_conversation(tenant) else { return };
        let one = async |_| {
            let (text, body) = self.saying(tenant, &conversation);
            tenant.ledger.borrow_mut().posted.insert(text.clone(), 1);
            let event = self.keyed(tenant.event("messages-create.json").body(&body));
            if let Some(answer) = self.persists("messages", event, true).await {
                self.is_said(tenant, text, &conversation, &answer);
            }
        };
        join_all((0..self.several()).map(one)).await;
    }

    /// Several changes of one contact. With `If-Match` only one of them may be made.
    async fn all_change_one_contact(&self, tenant: &Tenant) {
        let Some(contact) = self.some_contact(tenant).await else { return };
        let read = tenant.event("contacts-get.json").path("contactId", &contact);
        let Some(seen) = self.persists("contacts", read, false).await else { return };
        let tag = self.random.happens(500).then(|| seen.headers["etag"].clone());
        let change = |_| {
            let mut body = json!({ "firstName": format!("Name{:x}", self.random.next()) });
            match self.random.below(4) {
                0 => body["email"] = json!(format!("someone{}@example.com", self.random.below(5))),
                1 => body["cellphone"] = json!(self.stranger()),
                _ => {}
            }
            body
        };
        let bodies: Vec<Value> = (0..self.several()).map(change).collect();
        let event = tenant.event("contacts-update.json").path("contactId", &contact);
        self.change_all(tenant, "contacts", event, "contact.updated", &bodies, tag, "firstName").await;
    }

    async fn all_change_one_conversation(&self, tenant: &Tenant) {
        let Some(conversation) = self.some_conversation(tenant) else { return };
        let read = tenant.event("conversations-get.json").path("conversationId", &conversation);
        let Some(seen) = self.persists("conversations", read, false).await else { return };
        let tag = self.random.happens(500).then(|| seen.headers["etag"].clone());
        let bodies: Vec<Value> = (0..self.several())
            .map(|_| json!({ "name": format!("renamed {:x}", self.random.next()) }))
            .collect();
        let event = tenant.event("conversations-update.json").path("conversationId", &conversation);
        self.change_all(tenant, "conversations", event, "conversation.updated", &bodies, tag, "name").await;
    }

    /// Makes changes at the same moment. Every change that is accepted has its event; with `If-Match` there is at most
    /// one.
    #[allow(clippy::too_many_arguments, reason = "what the two kinds of changes differ in")]
    async fn change_all(
        &self,
        tenant: &Tenant,
        function: &str,
        event: GatewayEvent,
        told_as: &'static str,
        bodies: &[Value],
        tag: Option<String>,
        field: &'static str,
    ) {
        let request = |body: &Value| {
            let event = event.clone().body(body);
            match &tag {
                Some(tag) => event.header("if-match", tag),
                None => event,
            }
        };
        let answers = self.all(function, bodies.iter().map(request).collect(), false).await;
        let accepted: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
        for answer in &answers {
            // 409: another contact has the identity. 412: another change came first.
            let is_expected = matches!(answer.status, 200 | 409) || (answer.status == 412 && tag.is_some());
            if !is_expected {
                self.breaks(format!("a change is refused: {}", answer.text));
            }
        }
        if tag.is_some() && accepted.len() > 1 {
            self.breaks(format!("several changes of one state are accepted: {accepted:?}"));
        }
        for answer in accepted {
            let value = answer.json[field].as_str().unwrap_or_default().to_owned();
            tenant.ledger.borrow_mut().changes.push((told_as, field, value));
        }
    }

    /// Several contacts get the same address, number or id of the tenant's system at the same moment.
    async fn all_want_one_identity(&self, tenant: &Tenant) {
        let body = match self.random.below(3) {
            0 => json!({ "email": format!("Someone{}@example.com", self.random.below(5)) }),
            1 => json!({ "externalId": format!("crm-{}", self.random.below(5)) }),
            _ => json!({ "cellphone": self.stranger() }),
        };
        let mut events = vec![];
        for _ in 0..self.several() {
            let Some(contact) = self.some_contact(tenant).await else { return };
            events.push(tenant.event("contacts-update.json").path("contactId", contact).body(&body));
        }
        for answer in self.all("contacts", events, false).await {
            if !matches!(answer.status, 200 | 409) {
                self.breaks(format!("a change of a contact is refused: {}", answer.text));
            }
        }
    }

    /// Several requests of visitors with one number, or with one token of the captcha, which is good for one lead.
    async fn all_ask_for_one(&self, tenant: &Tenant) {
        let is_token = self.random.happens(300);
        let token = format!("token {:x}", self.random.next());
        let number = match self.random.below(3) {
            0 => self.stranger(),
            1 => self.random.one_of(&tenant.customers).clone(),
            _ => format!("+3460022233{}", self.random.below(3)),
        };
        let one = async |other: usize| {
            let (number, token) = match is_token {
                true => (format!("+3460055566{other}"), token.clone()),
                false => (number.clone(), format!("{token} {other}")),
            };
            self.asks(tenant, &number, &token, is_token).await
        };
        let accepted: BTreeSet<String> =
            join_all((0..self.several()).map(one)).await.into_iter().flatten().collect();
        if is_token && accepted.len() > 1 {
            self.breaks(format!("one captcha token made several leads: {accepted:?}"));
        }
    }

    /// A customer writes several messages at once, or changes their mind.
    async fn all_write_as_one(&self, tenant: &Tenant) {
        let number = match self.random.happens(500) {
            true => self.stranger(),
            false => self.random.one_of(&tenant.customers).clone(),
        };
        let digits = number.trim_start_matches('+');
        let chooses = self.random.happens(400);
        for later in 0..self.several() + 1 {
            if !chooses && self.random.happens(150) {
                self.moves(tenant, digits);
                continue;
            }
            let choice = match (chooses, self.random.happens(500)) {
                (true, true) => Some(Choice::Out),
                (true, false) => Some(Choice::In),
                (false, _) => None,
            };
            self.writes(tenant, &number, choice, u64::try_from(later).unwrap_or_default());
        }
    }

    /// Many requests with a key that permits few.
    async fn floods(&self, tenant: &Tenant) {
        let begun = Instant::now();
        let one = async |_: u64| {
            let number = self.random.next();
            let event = tenant
                .event("conversations-list.json")
                .header("x-api-key", &tenant.flood_key)
                .request_id(&format!("r-{number:x}"))
                .query(&[]);
            self.request("conversations", event).await
        };
        let answers = join_all((0..12).map(one)).await;
        let admitted = answers.iter().flatten().filter(|answer| answer.status == 200).count();
        // Clocks may differ, and the flood takes a while.
        let passed = begun.elapsed().as_millis() + u128::from(2 * self.faults.levels.skew) + 1_000;
        let most = u128::from(FLOOD.burst) + passed * u128::from(FLOOD.per_second) / 1_000;
        if admitted as u128 > most {
            self.breaks(format!("{admitted} requests of a key are admitted instead of {most}"));
        }
    }
}
