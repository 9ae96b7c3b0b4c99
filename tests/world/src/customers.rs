//! Customers of four countries whose numbers have two written forms: WhatsApp writes one, tenants and visitors the other.
//!
//! Some hide the number at first and show it later, some have a user id and some have none. Some move to another number, and
//! somebody else gets the old one.

use std::rc::Rc;
use std::time::Duration;

use domain::choices::Choice;
use serde_json::{Value, json};
use store::Table;
use tokio::time::{Instant, sleep};

use crate::ledger::{Customer, Said};
use crate::phones::{Phone, canonical};
use crate::random::Random;
use crate::rows::{contains, text};
use crate::simulation::Simulation;
use crate::tenant::{Tenant, is_of};
use crate::whatsapp::Subscriber;

/// How long nobody has a number that a customer gave up.
const VACANT: Duration = Duration::from_secs(600);
/// How often a patient customer looks whether the service has caught up, once a minute.
const LOOKS: u32 = 60;

/// Whether a contact is one of these customers: it has such a number, or a user id.
pub(crate) fn is_customer(contact: &Value) -> bool {
    let number = contact["cellphone"].as_str().unwrap_or_default();
    let has_user = contact["providerUserIds"].as_array().is_some_and(|ids| !ids.is_empty());
    has_user || Phone::is_known(number)
}

impl Simulation {
    /// In some worlds, tenants have such customers. The draws that decide about it are of their own, so worlds without them
    /// keep their histories.
    pub(crate) fn start_customers(self: &Rc<Self>, random: &Random) {
        for tenant in (0..self.tenants.len()).filter(|_| random.happens(350)) {
            for n in 0..random.within(1, 2) {
                let place = tenant as u64 * 50 + n * 10;
                let (country, kind) = (random.below(4), random.below(4));
                // The number alone; number and user id; first the user id alone; a customer who moves.
                let user = (kind > 0).then(|| format!("MX.{}", place * 10 + 1_000));
                let customer = Customer::new(Phone::of(country, place), user, kind == 2);
                let after = (kind == 3).then(|| {
                    let user = |n| format!("MX.{}", place * 10 + 1_000 + n);
                    (Phone::of(country, place + 1), user(1), user(2))
                });
                self.start_customer(tenant, customer, after);
            }
        }
    }

    /// Lets a customer live. One who moves gets this phone with this user id; who gets the old phone has the last one.
    fn start_customer(
        self: &Rc<Self>,
        tenant: usize,
        customer: Customer,
        after: Option<(Phone, String, String)>,
    ) {
        self.whatsapp.subscribes(customer.subscriber());
        let at = {
            let customers = &mut self.tenants[tenant].ledger.borrow_mut().customers;
            customers.push(customer);
            customers.len() - 1
        };
        let this = self.clone();
        self.spawn("client", async move { this.lives(tenant, at, after).await });
        let this = self.clone();
        self.spawn("client", async move { this.deals(&this.tenants[tenant], at).await });
    }

    async fn lives(self: &Rc<Self>, tenant: usize, at: usize, after: Option<(Phone, String, String)>) {
        let of = &self.tenants[tenant];
        for _ in 0..self.random.within(2, 5) {
            self.pause().await;
            if self.random.happens(150) {
                self.shows(of, at);
            }
            match self.random.below(10) {
                0..6 => self.customer_writes(of, at, None),
                6..8 => self.answers(of, at),
                8 => self.chooses(of, at),
                _ => self.prefers(of, at),
            }
        }
        if let Some((phone, user, next)) = after {
            let left = self.moves_on(of, at, phone, user).await;
            sleep(VACANT).await;
            let is_one = of.ledger.borrow().customers[at].is_one;
            self.start_customer(tenant, Customer { is_one, ..Customer::new(left, Some(next), false) }, None);
        }
        self.pause().await;
        self.shows(of, at);
        self.customer_writes(of, at, None);
    }

    fn customer(tenant: &Tenant, at: usize) -> Customer {
        tenant.ledger.borrow().customers[at].clone()
    }

    /// From now on the customer's number is named.
    fn shows(&self, tenant: &Tenant, at: usize) {
        let subscriber = {
            let customer = &mut tenant.ledger.borrow_mut().customers[at];
            customer.hides = false;
            customer.subscriber()
        };
        self.whatsapp.subscribes(subscriber);
    }

    /// A second of the customer's own, some seconds ago, later than all before.
    fn second(&self, tenant: &Tenant, at: usize) -> i64 {
        let customer = &mut tenant.ledger.borrow_mut().customers[at];
        customer.last = (customer.last + 1).max(self.now().as_seconds() - 15);
        customer.last
    }

    /// The customer's number and user id as a message names them.
    fn named(&self, customer: &Customer, is_whole: bool) -> (Option<String>, Option<String>) {
        let number = (!customer.hides).then(|| customer.phone.provider.clone());
        let is_user = number.is_none() || is_whole || self.random.happens(500);
        (number, customer.user.clone().filter(|_| is_user))
    }

    /// WhatsApp tells of something that the customer wrote: its type, and its fields. A message of all ids has `is_whole`.
    fn tells_of(&self, tenant: &Tenant, at: usize, is_whole: bool, mut message: Value) {
        let second = self.second(tenant, at);
        let (number, user) = self.named(&Self::customer(tenant, at), is_whole);
        message["id"] = json!(format!("wamid.in.{:x}", self.random.next()));
        message["timestamp"] = json!(second.to_string());
        message["from"] = json!(number);
        message["from_user_id"] = json!(user);
        self.whatsapp.tells(json!({
            "line": tenant.line,
            "contacts": [{ "wa_id": number, "user_id": user, "profile": { "name": "Ana Sample" } }],
            "messages": [message],
        }));
    }

    /// The customer writes a text, or answers the message with this provider's id in this conversation.
    fn customer_writes(&self, tenant: &Tenant, at: usize, answers: Option<(String, Option<String>)>) {
        let said = format!("word {:x} to {}", self.random.next(), tenant.number);
        let mut message = json!({ "type": "text", "text": { "body": said } });
        let (wamid, into) = answers.unzip();
        if let Some(wamid) = wamid {
            message["context"] = json!({ "id": wamid });
        }
        {
            let mut ledger = tenant.ledger.borrow_mut();
            ledger.inbound.push(said.clone());
            ledger.customers[at].said.push(Said { text: said, into: into.flatten() });
        }
        // A message that answers nothing is whole, so in the end all ids were named together.
        let is_whole = message["context"].is_null();
        self.tells_of(tenant, at, is_whole, message);
    }

    /// The customer answers a message that the service knows to be sent.
    fn answers(&self, tenant: &Tenant, at: usize) {
        let customer = Self::customer(tenant, at);
        let known = self.world.db.rows_from(Table::Messages, "P");
        let calls = self.whatsapp.calls().into_iter().filter(|call| {
            call.channel == tenant.line
                && call.at > customer.since
                && (customer.phone.is(&call.to) || customer.user.as_deref() == Some(&call.to))
        });
        let sent: Vec<_> = calls
            .filter_map(|call| {
                let wamid = call.wamid?;
                let pk = format!("{}#P#{wamid}", tenant.workspace);
                known.iter().any(|row| text(&row["pk"]) == Some(&pk)).then_some(())?;
                // Who hides the number is not known as the one whom the number reached.
                let is_same = !customer.hides || !customer.phone.is(&call.to);
                Some((wamid, is_same.then(|| call.part.conversation.to_string())))
            })
            .collect();
        let answered = (!sent.is_empty()).then(|| self.random.one_of(&sent).clone());
        self.customer_writes(tenant, at, answered);
    }

    /// The customer opts out, or in again, by a word or by a tap.
    fn chooses(&self, tenant: &Tenant, at: usize) {
        let (word, choice) = *self.random.one_of(&[
            ("STOP", Some(Choice::Out)),
            ("STOP", Some(Choice::Out)),
            ("START", Some(Choice::In)),
            ("STOP PROMOTIONS", None),
        ]);
        let message = match self.random.below(4) {
            0 | 1 => json!({ "type": "text", "text": { "body": word } }),
            2 => json!({ "type": "button", "button": { "text": "No more", "payload": word } }),
            _ => {
                let reply = json!({ "id": "row 7", "title": word });
                json!({ "type": "interactive", "interactive": { "type": "list_reply", "list_reply": reply } })
            }
        };
        self.tells_of(tenant, at, false, message);
        let mut ledger = tenant.ledger.borrow_mut();
        let customer = &mut ledger.customers[at];
        customer.chose |= choice.is_none();
        let number = format!("+{}", customer.phone.dialled);
        // Whether the choice holds for the number depends on when the number becomes known.
        let is_known = customer.left.is_none() && !customer.hides && customer.is_shown;
        let last = customer.last;
        ledger.choices.extend(choice.map(|choice| (number.clone(), last, choice)));
        if !is_known {
            ledger.moved.push(number);
        }
    }

    /// The customer's preference in WhatsApp, about what this line advertises.
    fn prefers(&self, tenant: &Tenant, at: usize) {
        let second = self.second(tenant, at);
        let (number, user) = self.named(&Self::customer(tenant, at), false);
        tenant.ledger.borrow_mut().customers[at].chose = true;
        self.whatsapp.tells(json!({
            "line": tenant.line,
            "field": "user_preferences",
            "contacts": [],
            "user_preferences": [{
                "wa_id": number, "user_id": user, "category": "marketing_messages",
                "value": self.random.one_of(&["stop", "resume"]), "timestamp": second.to_string(),
            }],
        }));
    }

    /// The customer moves to another phone, with a user id of it. Returns the old phone. Whoever is patient waits until the
    /// service knows all that came before, and then until it knows the move.
    async fn moves_on(&self, tenant: &Tenant, at: usize, phone: Phone, user: String) -> Phone {
        let before = Self::customer(tenant, at);
        let is_patient = self.random.happens(700) && self.catches_up(|| self.knows(tenant, &before)).await;
        let second = self.second(tenant, at);
        self.whatsapp.is_left(&before.phone);
        self.whatsapp.tells(json!({
            "line": tenant.line,
            "contacts": [],
            "messages": [{
                "id": format!("wamid.in.{:x}", self.random.next()), "type": "system",
                "from": before.phone.provider, "from_user_id": before.user, "timestamp": second.to_string(),
                "system": { "type": "user_changed_number", "wa_id": phone.provider, "user_id": user },
            }],
        }));
        let after = {
            let mut ledger = tenant.ledger.borrow_mut();
            ledger.moved.extend([&before.phone, &phone].map(|phone| format!("+{}", phone.dialled)));
            let customer = &mut ledger.customers[at];
            customer.left = Some(before.phone.clone());
            (customer.phone, customer.user) = (phone, Some(user));
            customer.clone()
        };
        self.whatsapp.subscribes(after.subscriber());
        let is_known = || self.holders(tenant, &after).len() == 1 && self.knows(tenant, &before);
        let is_one = is_patient && self.catches_up(is_known).await;
        tenant.ledger.borrow_mut().customers[at].is_one &= is_one;
        before.phone
    }

    /// Waits until something is so. Returns whether it is.
    async fn catches_up(&self, is_so: impl Fn() -> bool) -> bool {
        for _ in 0..LOOKS {
            sleep(Duration::from_secs(60)).await;
            if is_so() {
                return true;
            }
        }
        false
    }

    /// Whether everything that the customer wrote is stored, and nothing of the customer is being merged.
    fn knows(&self, tenant: &Tenant, customer: &Customer) -> bool {
        let messages = self.world.db.rows_from(Table::Messages, "M#");
        let is_stored =
            |said: &Said| messages.iter().any(|row| is_of(row, tenant) && contains(row, &said.text));
        let contacts = self.world.db.rows_from(Table::Contacts, "C");
        let is_merging = contacts.iter().any(|row| is_of(row, tenant) && !row["merging"].is_null());
        customer.said.iter().all(is_stored) && !is_merging
    }

    /// What a tenant does with a customer.
    async fn deals(&self, tenant: &Tenant, at: usize) {
        for _ in 0..self.random.within(2, 5) {
            self.pause().await;
            let customer = Self::customer(tenant, at);
            let number = match self.random.happens(700) {
                true => format!("+{}", customer.phone.dialled),
                false => format!("+{}", customer.phone.provider),
            };
            let some = (!customer.conversations.is_empty())
                .then(|| self.random.one_of(&customer.conversations).clone());
            match (self.random.below(9), some) {
                (0..2, _) | (2..6, None) => {
                    let opened = self.opens_with(tenant, &number).await;
                    tenant.ledger.borrow_mut().customers[at].conversations.extend(opened);
                }
                (2..4, Some(conversation)) => drop(self.say(tenant, &conversation).await),
                (4..6, Some(conversation)) => self.sends_template(tenant, &conversation).await,
                (6..8, _) => {
                    let token = format!("token {:x}", self.random.next());
                    self.asks(tenant, &number, &token, false).await;
                }
                _ => self.writes_otherwise(tenant, &number).await,
            }
        }
    }

    /// A message that is a template.
    async fn sends_template(&self, tenant: &Tenant, conversation: &str) {
        let template = self.random.one_of(&tenant.templates);
        let body = json!({ "conversationId": conversation, "template": { "templateId": template } });
        let event = self.keyed(tenant.event("messages-create.json").body(&body));
        if let Some(answer) = self.persists("messages", event, true).await
            && answer.status != 201
            && !(self.reviewed.get() && answer.text.contains("PAUSED"))
        {
            self.breaks(format!("a template is refused: {}", answer.text));
        }
    }

    /// Gives the contact with this number the same number as it is written here.
    async fn writes_otherwise(&self, tenant: &Tenant, number: &str) {
        let found = self.contacts(tenant, &[("search", number)]).await;
        let Some(contact) = found.first().and_then(|contact| contact["id"].as_str()) else { return };
        let body = json!({ "cellphone": number });
        let event = tenant.event("contacts-update.json").path("contactId", contact).body(&body);
        // The contact became part of another one, or gave the number up and another one has it.
        if let Some(answer) = self.persists("contacts", event, false).await
            && !matches!(answer.status, 200 | 404 | 409)
        {
            self.breaks(format!("another form of a number is refused: {}", answer.text));
        }
    }

    /// The contacts that have the customer's number or user id.
    fn holders(&self, tenant: &Tenant, customer: &Customer) -> Vec<String> {
        let rows = self.world.db.rows_from(Table::Contacts, "C");
        let own = rows.iter().filter(|row| is_of(row, tenant) && row["kind"]["S"] == "contact");
        let is_holder = |row: &&Value| {
            let number = [&row["cellphone"], &row["waId"]].into_iter().filter_map(text);
            let users = row["userIds"].to_string();
            number.map(canonical).any(|number| number == customer.phone.provider)
                || customer.user.as_ref().is_some_and(|user| users.contains(&format!("\"{user}\"")))
        };
        let id = |row: &Value| Some(text(&row["pk"])?.rsplit('#').next()?.to_owned());
        own.filter(is_holder).filter_map(id).collect()
    }

    /// Whether this contact's own number is the customer's.
    fn shows_number(&self, tenant: &Tenant, contact: &str, customer: &Customer) -> bool {
        let pk = format!("{}#C#{contact}", tenant.workspace);
        let rows = self.world.db.rows_from(Table::Contacts, "C");
        let row = rows.iter().find(|row| text(&row["pk"]) == Some(&pk));
        let number = row.and_then(|row| text(&row["cellphone"])).map(canonical);
        number.is_some_and(|number| number == customer.phone.provider)
    }

    /// What a customer wrote is with one contact, in order, and where it answers something.
    pub(crate) async fn check_customers(&self, tenant: &Tenant, messages: &[Value]) {
        let customers = tenant.ledger.borrow().customers.clone();
        for customer in &customers {
            let holders = self.holders(tenant, customer);
            let by_number = Customer { user: None, ..customer.clone() };
            let by_number = self.holders(tenant, &by_number);
            // A contact can also have a number under which only the provider knows it. No search finds it by that one.
            let shown: Vec<String> =
                by_number.iter().filter(|id| self.shows_number(tenant, id, customer)).cloned().collect();
            if by_number.len() > 1 {
                self.breaks(format!("{:?} is the number of {by_number:?}", customer.phone));
            }
            for number in customer.phone.forms() {
                let query = [("search", number.as_str())];
                let found = self.pages_of("contacts", tenant.event("contacts-list.json"), &query).await;
                if found != shown {
                    self.breaks(format!("a search for {number} finds {found:?}, it is {shown:?}"));
                }
            }
            if !customer.is_one {
                continue;
            }
            match &holders[..] {
                [contact] => self.check_one(tenant, customer, contact, messages),
                [] if customer.said.is_empty() => {}
                _ => self.breaks(format!("{customer:?} is {holders:?}")),
            }
        }
    }

    fn check_one(&self, tenant: &Tenant, customer: &Customer, contact: &str, messages: &[Value]) {
        let conversations = self.world.db.rows_from(Table::Conversations, "C");
        let mut places = vec![];
        for said in &customer.said {
            let Some(row) = messages.iter().find(|row| is_of(row, tenant) && contains(row, &said.text))
            else {
                continue;
            };
            let conversation = text(&row["conversationId"]).unwrap_or_default();
            let home = conversations.iter().find(|home| text(&home["id"]) == Some(conversation));
            if !home.is_some_and(|home| home["externals"].to_string().contains(contact)) {
                self.breaks(format!("{said:?} of contact {contact} is in {home:?}"));
            }
            if said.into.as_deref().is_some_and(|into| into != conversation) {
                self.breaks(format!("{said:?} is in conversation {conversation}"));
            }
            let number: u64 = row["seq"]["N"].as_str().and_then(|seq| seq.parse().ok()).unwrap_or_default();
            places.push((conversation, text(&row["createdAt"]).unwrap_or_default(), number));
        }
        // In the list of each conversation.
        for (n, later) in places.iter().enumerate() {
            let mut before = places[..n].iter().filter(|before| before.0 == later.0);
            if before.any(|before| (before.1, before.2) > (later.1, later.2)) {
                self.breaks(format!("what {contact} wrote is out of order: {places:?} {customer:?}"));
                return;
            }
        }
        let conflicts = self.world.db.rows_of(Table::Contacts, "contactConflict");
        // A template that waited, because it was paused, can reach the next person who has the number.
        let may_be = |row: &&Value| self.reviewed.get() && row["reason"]["S"] == "USER_ID_CHANGED";
        let of_contact = |row: &&Value| row.to_string().contains(contact);
        if let Some(conflict) = conflicts.iter().filter(of_contact).find(|row| !may_be(row)) {
            self.breaks(format!("nothing contradicts {customer:?}, and there is {conflict}"));
        }
    }
}

impl Customer {
    fn new(phone: Phone, user: Option<String>, hides: bool) -> Self {
        Self {
            phone,
            user,
            since: Instant::now(),
            left: None,
            hides,
            is_shown: !hides,
            said: vec![],
            last: 0,
            chose: false,
            conversations: vec![],
            is_one: true,
        }
    }

    fn subscriber(&self) -> Subscriber {
        Subscriber { phone: self.phone.clone(), user: self.user.clone(), hides: self.hides }
    }
}
