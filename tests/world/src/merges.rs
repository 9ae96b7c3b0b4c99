//! A person who is two contacts, which a tenant makes one.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::ledger::Merged;
use crate::random::Random;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

/// The numbers of the person. The contact of the first one stays.
const NUMBERS: [&str; 2] = ["+34600777901", "+34600777902"];

/// Whether a contact is one that a merge may take.
pub(crate) fn may_merge(contact: &Value) -> bool {
    NUMBERS.iter().any(|number| contact["cellphone"] == *number)
}

impl Simulation {
    /// In some worlds, a tenant deals with such a person. The draws are of their own, so worlds without one keep their
    /// histories.
    pub(crate) fn start_merges(self: &Rc<Self>, random: &Random) {
        for tenant in (0..self.tenants.len()).filter(|_| random.happens(150)) {
            let this = self.clone();
            self.spawn("client", async move { this.merges(&this.tenants[tenant]).await });
        }
    }

    async fn merges(&self, tenant: &Tenant) {
        let mut conversations = BTreeSet::new();
        for number in NUMBERS {
            conversations.extend(self.opens_with(tenant, number).await);
        }
        let mut ids = vec![];
        for number in NUMBERS {
            let found = self.contacts(tenant, &[("search", number)]).await;
            ids.extend(found.first().and_then(|contact| contact["id"].as_str()).map(str::to_owned));
        }
        let Ok(ids) = <[String; 2]>::try_from(ids) else { return };
        // The id of the contact that goes becomes that of the one that stays.
        let body = json!({ "externalId": "crm of two" });
        let event = tenant.event("contacts-update.json").path("contactId", &ids[1]).body(&body);
        self.persists("contacts", event, false).await;
        // The customer writes, and the tenant opens a conversation, while the contacts become one.
        let text = self.writes(tenant, NUMBERS[1], None, 0);
        let (is_merged, late) = tokio::join!(self.merge(tenant, &ids), self.opens_with(tenant, NUMBERS[1]));
        conversations.extend(late);
        self.trace.note(format_args!("merge of {ids:?}: {is_merged}, {text}"));
        if is_merged {
            tenant.ledger.borrow_mut().merged = Some(Merged { ids, conversations });
        }
    }

    /// Opens a conversation with a number. Returns its id, if it was answered.
    pub(crate) async fn opens_with(&self, tenant: &Tenant, number: &str) -> Option<String> {
        self.pause().await;
        let (name, body) = self.opening(tenant, number);
        tenant.ledger.borrow_mut().opened.insert(name.clone(), None);
        let event = self.keyed(tenant.event("conversations-create.json").body(&body));
        let answer = self.persists("conversations", event, true).await?;
        self.is_opened(tenant, &name, &answer)
    }

    /// Asks for the merge. Returns whether it was ever answered.
    async fn merge(&self, tenant: &Tenant, [stays, goes]: &[String; 2]) -> bool {
        let body = json!({ "contactId": goes });
        let event = tenant.event("contacts-merge.json").path("contactId", stays).body(&body);
        for _ in 0..10 {
            self.pause().await;
            let Some(answer) = self.persists("contacts", event.clone(), false).await else { continue };
            // An earlier request was executed, and its answer was lost.
            let is_done = answer.json["extra"]["reason"] == "ALREADY_MERGED";
            if answer.status != 202 && !is_done {
                self.breaks(format!("a merge is refused: {}", answer.text));
            }
            return true;
        }
        false
    }

    /// The merged contact leads to the one that stays, which has everything.
    pub(crate) async fn check_merged(&self, tenant: &Tenant) {
        let Some(Merged { ids: [stays, goes], conversations }) = tenant.ledger.borrow().merged.clone() else {
            return;
        };
        let event = tenant.event("contacts-get.json").path("contactId", &goes);
        let answer = self.persists("contacts", event, false).await;
        let leads_to = answer.as_ref().map(|answer| (answer.status, &answer.json["extra"]["mergedInto"]));
        if leads_to != Some((404, &json!(stays))) {
            self.breaks(format!("contact {goes} was merged into {stays}, and is {answer:?}"));
        }
        // The id of each is a filter for the conversations of both.
        let mut lists = vec![];
        for id in [&stays, &goes] {
            let filter = [("externalUserIdentifier", id.as_str()), ("externalIdentifierType", "ID")];
            lists
                .push(self.pages_of("conversations", tenant.event("conversations-list.json"), &filter).await);
        }
        let listed: BTreeSet<String> = lists[0].iter().cloned().collect();
        if !conversations.is_subset(&listed) || lists[0] != lists[1] {
            self.breaks(format!("{stays} has {lists:?} after a merge, and not all of {conversations:?}"));
        }
    }
}
