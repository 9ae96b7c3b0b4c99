//! What operators set up for programs: the attributes of contacts, and internal users.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use harness::GatewayEvent;
use serde_json::{Value, json};
use store::Table;
use tokio::time::Instant;

use crate::commands::Ran;
use crate::ledger::{Agent, Definition};
use crate::register::Register;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

impl Simulation {
    /// An operator sets up attributes and users, and changes them.
    pub(crate) async fn sets_up(&self, tenant: &Tenant) {
        match self.random.below(8) {
            0..3 => drop(self.define(tenant, &self.some_key_name()).await),
            3..5 => self.redefine(tenant).await,
            5..7 => drop(self.hire(tenant, &self.some_address()).await),
            _ => self.rehire(tenant).await,
        }
    }

    /// Several operators create an attribute or a user of one name at the same moment.
    pub(crate) async fn all_set_up_one(&self, tenant: &Tenant) {
        let made = match self.random.happens(500) {
            true => {
                let key_name = format!("Key {:x}", self.random.next());
                join_all((0..self.several()).map(|_| self.define(tenant, &key_name))).await
            }
            false => {
                let email = format!("agent{:x}@example.com", self.random.next());
                join_all((0..self.several()).map(|_| self.hire(tenant, &email))).await
            }
        };
        // A name is free again when its attribute is renamed or archived.
        let ledger = tenant.ledger.borrow();
        let has_name = |id: &String| {
            let definition = ledger.definitions.get(id);
            definition.is_none_or(|definition| !definition.was_renamed && !definition.was_archived)
        };
        let made: Vec<String> = made.into_iter().flatten().filter(has_name).collect();
        if made.len() > 1 {
            self.breaks(format!("one name is given several times: {made:?}"));
        }
    }

    fn some_key_name(&self) -> String {
        format!("{} {}", self.random.one_of(&["Key", "key"]), self.random.below(5))
    }

    fn some_address(&self) -> String {
        format!("agent{}@example.com", self.random.within(2, 4))
    }

    /// A command, of which the outcome may be unknown, that changes the workspace.
    pub(crate) async fn command_of_settings(&self, tenant: &Tenant, words: &[&str]) -> Ran {
        let ran = self.command(tenant, words).await;
        tenant.ledger.borrow_mut().may_change_workspace();
        ran
    }

    /// Creates an attribute. Returns its id.
    async fn define(&self, tenant: &Tenant, key_name: &str) -> Option<String> {
        let begun = Instant::now();
        let is_closed = self.random.happens(400);
        let first = format!("value {:x}", self.random.next());
        let mut words = vec!["attribute", "create", "--key-name", key_name, "--category"];
        match is_closed {
            true => words.extend(["CLOSED", "--value", &first]),
            false => words.push("OPEN"),
        }
        let made = match self.command_of_settings(tenant, &words).await {
            Ran::Done(made) => made,
            // An active attribute has the name.
            Ran::Refused(code) if code == "DEFINITION_REFUSED" => return None,
            Ran::Unknown => return None,
            Ran::Refused(code) => {
                self.breaks(format!("an attribute is refused: {code}"));
                return None;
            }
        };
        let mut definition = Definition { is_closed, ..Definition::default() };
        definition.key_name.changed(key_name, begun, true);
        for value in made["values"].as_array().into_iter().flatten() {
            let (id, text) = (text(&value["id"]), text(&value["value"]));
            definition.values.entry(id).or_default().changed(&text, begun, true);
        }
        let id = text(&made["id"]);
        tenant.ledger.borrow_mut().definitions.insert(id.clone(), definition);
        Some(id)
    }

    /// Changes an attribute.
    async fn redefine(&self, tenant: &Tenant) {
        let Some(id) = self.some_of(&tenant.ledger.borrow().definitions) else { return };
        let of = |tenant: &Tenant| tenant.ledger.borrow().definitions[&id].clone();
        let begun = Instant::now();
        let new = format!("value {:x}", self.random.next());
        let key_name = self.some_key_name();
        let value = self.some_of(&of(tenant).values);
        let kind =
            *self.random.one_of(&["rename", "rename", "archive", "unarchive", "add-value", "rename-value"]);
        let mut words = vec!["attribute", kind, "--attribute", &id];
        match (kind, &value) {
            ("rename", _) => {
                words.extend(["--key-name", &key_name]);
                tenant.ledger.borrow_mut().definitions.entry(id.clone()).or_default().was_renamed = true;
            }
            ("archive", _) => {
                tenant.ledger.borrow_mut().definitions.entry(id.clone()).or_default().was_archived = true;
            }
            ("unarchive", _) => {}
            (_, None) => return,
            ("add-value", _) => words.extend(["--value", &new]),
            (_, Some(value)) => words.extend(["--value", value, "--to", &new]),
        }
        let ran = self.command_of_settings(tenant, &words).await;
        let is_accepted = match &ran {
            Ran::Done(_) => true,
            Ran::Unknown => false,
            Ran::Refused(code) => {
                if code != "DEFINITION_CHANGE_REFUSED" {
                    self.breaks(format!("a change of an attribute is refused: {code}"));
                }
                return;
            }
        };
        let mut ledger = tenant.ledger.borrow_mut();
        let definition = ledger.definitions.entry(id.clone()).or_default();
        match (kind, value) {
            ("rename", _) => definition.key_name.changed(&key_name, begun, is_accepted),
            ("rename-value", Some(value)) => {
                definition.values.entry(value).or_default().changed(&new, begun, is_accepted);
            }
            ("add-value", _) => {
                let Ran::Done(view) = &ran else { return };
                let values = view["values"].as_array().into_iter().flatten();
                for value in values.filter(|value| value["value"] == new.as_str()) {
                    let id = text(&value["id"]);
                    definition.values.entry(id).or_default().changed(&new, begun, true);
                }
            }
            _ => {}
        }
    }

    /// Creates a user. Returns their id.
    async fn hire(&self, tenant: &Tenant, email: &str) -> Option<String> {
        let begun = Instant::now();
        let name = format!("Name{:x}", self.random.next());
        match self.command(tenant, &["user", "create", "--email", email, "--first-name", &name]).await {
            Ran::Done(made) => {
                let mut agent = Agent { email: email.to_owned(), ..Agent::default() };
                agent.first_name.changed(&name, begun, true);
                let id = text(&made["id"]);
                tenant.ledger.borrow_mut().agents.insert(id.clone(), agent);
                Some(id)
            }
            Ran::Refused(code) if code != "USER_EMAIL_TAKEN" => {
                self.breaks(format!("a user is refused: {code}"));
                None
            }
            Ran::Refused(_) | Ran::Unknown => None,
        }
    }

    /// Changes a user.
    async fn rehire(&self, tenant: &Tenant) {
        let Some(id) = self.some_of(&tenant.ledger.borrow().agents) else { return };
        let begun = Instant::now();
        let name = format!("Name{:x}", self.random.next());
        let kind = *self.random.one_of(&["update", "update", "disable", "enable"]);
        let mut words = vec!["user", kind, "--user", &id];
        match kind {
            "update" => words.extend(["--first-name", &name]),
            "disable" => {
                tenant.ledger.borrow_mut().agents.entry(id.clone()).or_default().was_disabled = true;
            }
            _ => {}
        }
        let ran = self.command(tenant, &words).await;
        if let Ran::Refused(code) = &ran {
            return self.breaks(format!("a change of a user is refused: {code}"));
        }
        if kind == "update" {
            let mut ledger = tenant.ledger.borrow_mut();
            let agent = ledger.agents.entry(id).or_default();
            agent.first_name.changed(&name, begun, matches!(ran, Ran::Done(_)));
        }
    }

    /// One of the keys of a map.
    fn some_of<T>(&self, map: &BTreeMap<String, T>) -> Option<String> {
        let keys: Vec<&String> = map.keys().collect();
        (!keys.is_empty()).then(|| (*self.random.one_of(&keys)).clone())
    }

    /// Gives a contact an attribute, sometimes another tenant's, and an owner.
    pub(crate) async fn describes(&self, tenant: &Tenant) {
        let is_foreign = self.random.happens(100);
        let of = if is_foreign { self.other(tenant) } else { tenant };
        let Some(attribute) = self.some_of(&of.ledger.borrow().definitions) else { return };
        let Some(contact) = self.some_contact(tenant).await else { return };
        let definition = of.ledger.borrow().definitions[&attribute].clone();
        let content = match definition.is_closed {
            true => self.some_of(&definition.values).unwrap_or_default(),
            false => format!("content {:x}", self.random.next()),
        };
        let custom = match definition.is_closed {
            true => json!({ "closedAttributes": [
                { "customAttributeId": attribute, "closedCustomAttributeIds": [content] },
            ] }),
            false => json!({ "openAttributes": [{ "customAttributeId": attribute, "content": content }] }),
        };
        let mut body = json!({ "customAttributes": custom });
        let owner = self.some_of(&tenant.ledger.borrow().agents).filter(|_| self.random.happens(300));
        if let Some(owner) = &owner {
            body["ownerIdentifier"] = json!({ "identifier": owner, "identifierType": "ID" });
        }
        let mut event = tenant.event("contacts-update.json").path("contactId", &contact).body(&body);
        let tag = self.tag_of(tenant, &contact).await.filter(|_| self.random.happens(300));
        if let Some(tag) = &tag {
            event = event.header("if-match", tag);
        }
        let begun = Instant::now();
        let answer = self.persists("contacts", event, false).await;
        let mut ledger = tenant.ledger.borrow_mut();
        let may_be_unfit = is_foreign
            || ledger.definitions.get(&attribute).is_none_or(|definition| definition.was_archived)
            || owner.is_some_and(|owner| ledger.agents[&owner].was_disabled);
        let status = answer.as_ref().map(|answer| answer.status);
        match status {
            Some(422) if may_be_unfit => return,
            Some(412) if tag.is_some() => return,
            Some(200) if !is_foreign => {
                if !may_be_unfit && !definition.is_closed {
                    ledger.changes.push(("contact.updated", "customAttributes", content.clone()));
                }
            }
            // Another tenant's attribute is refused, also if the answer does not arrive.
            None if is_foreign => return,
            None => {}
            _ => {
                drop(ledger);
                return self.breaks(format!("a change of a contact is answered: {answer:?}"));
            }
        }
        let register = ledger.contents.entry((contact, attribute)).or_default();
        register.changed(&content, begun, status == Some(200));
    }

    /// The entity tag of a contact.
    async fn tag_of(&self, tenant: &Tenant, contact: &str) -> Option<String> {
        let read = tenant.event("contacts-get.json").path("contactId", contact);
        let seen = self.persists("contacts", read, false).await?;
        seen.headers.get("etag").cloned()
    }

    /// Reads the attributes and a user of the tenant, and tries to read another tenant's user.
    pub(crate) async fn consults(&self, tenant: &Tenant) {
        let known: Vec<String> = tenant.ledger.borrow().definitions.keys().cloned().collect();
        if let Some(answer) = self.persists("attributes", all_attributes(tenant), false).await {
            let listed = ids_of(&answer.json["customAttributes"]);
            let foreign = &self.other(tenant).ledger.borrow().definitions;
            if known.iter().any(|id| !listed.contains(id)) || listed.iter().any(|id| foreign.contains_key(id))
            {
                self.breaks(format!(
                    "the attributes of tenant {} are {listed:?}, not {known:?}",
                    tenant.number
                ));
            }
        }
        for (of, expected) in [(tenant, 200), (self.other(tenant), 404)] {
            let Some(user) = self.some_of(&of.ledger.borrow().agents) else { continue };
            let event = tenant.event("users-get.json").path("userId", &user);
            let Some(answer) = self.persists("users", event, false).await else { continue };
            if answer.status != expected {
                self.breaks(format!("tenant {} reads user {user}: {}", tenant.number, answer.text));
            }
        }
    }

    /// Every attribute and user that was accepted is there with the last change of it, no two have one name, and the
    /// contacts show their attributes.
    pub(crate) async fn check_settings(&self, tenant: &Tenant) {
        let ledger = tenant.ledger.borrow().clone();
        let shown = match self.persists("attributes", all_attributes(tenant), false).await {
            Some(answer) if answer.status == 200 => answer.json["customAttributes"].clone(),
            other => return self.breaks(format!("the attributes cannot be read: {other:?}")),
        };
        let shown: Vec<Value> = shown.as_array().cloned().unwrap_or_default();
        let mut names = BTreeSet::new();
        for one in shown.iter().filter(|one| one["deletedAt"].is_null()) {
            if !names.insert(text(&one["keyName"]).to_lowercase()) {
                self.breaks(format!("two attributes have one name: {shown:?}"));
            }
        }
        let shown: BTreeMap<String, Value> = shown.into_iter().map(|one| (text(&one["id"]), one)).collect();
        for (id, definition) in &ledger.definitions {
            let Some(one) = shown.get(id) else {
                self.breaks(format!("attribute {id} was accepted and is not there"));
                continue;
            };
            let values = texts_of(&one["closedAttributesValues"]);
            let has = |(id, register): (&String, &Register)| {
                values.get(id).is_some_and(|value| register.may_be(Some(value)))
            };
            if !definition.key_name.may_be(one["keyName"].as_str()) || !definition.values.iter().all(has) {
                self.breaks(format!("attribute {id} is {one}, not {definition:?}"));
            }
        }
        for ((contact, attribute), content) in &ledger.contents {
            if let Some(one) = shown.get(attribute).filter(|one| one["deletedAt"].is_null()) {
                self.check_content(tenant, contact, one, content).await;
            }
        }
        self.check_agents(tenant, &ledger.agents).await;
    }

    /// A contact shows the last content of an attribute.
    async fn check_content(&self, tenant: &Tenant, contact: &str, of: &Value, content: &Register) {
        let read = tenant.event("contacts-get.json").path("contactId", contact);
        let answer = self.persists("contacts", read, false).await;
        let shown = answer.as_ref().map(|answer| answer.json["customAttributes"].clone()).unwrap_or_default();
        let mut entries = shown.as_array().into_iter().flatten();
        let entry = entries.find(|entry| entry["key"] == of["keyName"]);
        let shown = entry.and_then(|entry| entry["values"][0].as_str());
        let closed = texts_of(&of["closedAttributesValues"]);
        let is_right = match shown {
            Some(shown) if of["category"] == "CLOSED" => {
                closed.iter().any(|(id, text)| text == shown && content.may_be(Some(id)))
            }
            shown => content.may_be(shown),
        };
        if !is_right {
            self.breaks(format!("contact {contact} has {shown:?} for {of}, not {content:?}: {answer:?}"));
        }
    }

    async fn check_agents(&self, tenant: &Tenant, agents: &BTreeMap<String, Agent>) {
        let rows = self.world.db.rows(Table::Workspaces);
        let of_kind = |kind: &str| -> BTreeMap<String, Value> {
            let own = rows.iter().filter(|row| {
                row["kind"]["S"] == kind && row["workspaceId"]["S"] == tenant.workspace.to_string().as_str()
            });
            own.map(|row| {
                let mut row = row.clone();
                for key in ["pk", "sk", "kind"] {
                    row.as_object_mut().map(|row| row.remove(key));
                }
                (text(&row["id"]["S"]), row)
            })
            .collect()
        };
        let (users, copies) = (of_kind("user"), of_kind("userByEmail"));
        let emails: BTreeSet<String> = users.values().map(|row| text(&row["email"]["S"])).collect();
        if users != copies || emails.len() != users.len() {
            self.breaks(format!("the users are {users:?}, by e-mail address {copies:?}"));
        }
        let listed = self.world.db.store().users(tenant.workspace).await.expect("a read");
        if listed.iter().map(|user| user.id.to_string()).collect::<BTreeSet<_>>()
            != users.into_keys().collect()
        {
            self.breaks(format!("the list of users is {listed:?}"));
        }
        for (id, agent) in agents {
            let event = tenant.event("users-get.json").path("userId", id);
            let is_right = self.persists("users", event, false).await.is_some_and(|answer| {
                answer.json["email"] == agent.email.as_str()
                    && agent.first_name.may_be(answer.json["firstName"].as_str())
            });
            if !is_right {
                self.breaks(format!("user {id} is not {agent:?}"));
            }
        }
    }
}

/// A request for all attributes.
fn all_attributes(tenant: &Tenant) -> GatewayEvent {
    tenant.event("attributes-list.json").query(&[("includeArchived", "true")])
}

fn ids_of(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|one| text(&one["id"])).collect()
}

/// The texts of a CLOSED attribute's values by their ids.
fn texts_of(values: &Value) -> BTreeMap<String, String> {
    let values = values.as_array().into_iter().flatten();
    values.map(|value| (text(&value["id"]), text(&value["value"]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
