//! A tenant's admin makes keys, links and sessions by the management API, uses them and ends them.

use std::time::Duration;

use futures::future::join_all;
use harness::{Answer, GatewayEvent};
use serde_json::{Value, json};
use store::Table;
use tokio::time::{Instant, sleep};

use crate::ledger::Credential;
use crate::rows::text;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

/// A process that remembers a key refuses it this long after its end at the latest.
const NOTICED: Duration = Duration::from_secs(31);
/// The scopes of keys in these worlds.
const SCOPES: [&str; 8] = [
    "keys:read",
    "keys:write",
    "portal:write",
    "audit:read",
    "webhooks:read",
    "webhooks:write",
    "deliveries:read",
    "deliveries:write",
];

impl Simulation {
    /// An admin of the tenant takes so many steps.
    pub(crate) async fn manages_access(&self, tenant: &Tenant, steps: u64) {
        for _ in 0..steps {
            self.pause().await;
            match self.random.below(12) {
                0..3 => self.makes_key(tenant).await,
                3..6 => self.makes_link(tenant).await,
                6 => {
                    let maker = self.some_maker(tenant, |one| !one.is_session);
                    self.starts_session(tenant, maker).await;
                }
                7 => self.signs_out(tenant).await,
                8 => self.revokes_used(tenant).await,
                9 => self.shortens(tenant).await,
                _ => self.presents(tenant).await,
            }
        }
    }

    /// One of the tenant's keys and sessions. `None` is the key that it always has.
    fn some_credential(&self, tenant: &Tenant, is_fit: fn(&Credential) -> bool) -> Option<Credential> {
        let ledger = tenant.ledger.borrow();
        let fit: Vec<&Credential> = ledger.credentials.iter().filter(|one| is_fit(one)).collect();
        (!fit.is_empty()).then(|| (*self.random.one_of(&fit)).clone())
    }

    /// Who acts: mostly the key that every tenant has.
    fn some_maker(&self, tenant: &Tenant, is_fit: fn(&Credential) -> bool) -> Option<Credential> {
        self.some_credential(tenant, is_fit).filter(|_| self.random.happens(450))
    }

    /// When a credential was certainly ended, if it was: by itself or with its root.
    fn ended(tenant: &Tenant, credential: &Credential) -> Option<Instant> {
        let ledger = tenant.ledger.borrow();
        let own = ledger.credentials.iter().find(|one| one.id == credential.id).and_then(|one| one.ended);
        let of_root = credential.root.as_ref().and_then(|root| ledger.ended.get(root).copied());
        own.into_iter().chain(of_root).min()
    }

    /// Somebody asks to end a key, with the sessions that began with it.
    fn asks_to_end(tenant: &Tenant, id: &str) {
        let mut ledger = tenant.ledger.borrow_mut();
        for one in &mut ledger.credentials {
            one.may_end |= one.id == id || one.root.as_deref() == Some(id);
        }
    }

    /// Somebody learned that a credential is ended since then.
    fn ends(tenant: &Tenant, id: &str, at: Instant) {
        let mut ledger = tenant.ledger.borrow_mut();
        for one in ledger.credentials.iter_mut().filter(|one| one.id == id) {
            one.ended = Some(one.ended.map_or(at, |before| before.min(at)));
        }
    }

    /// Sends a request with a credential. One that ended long ago must be refused.
    async fn sends(
        &self,
        tenant: &Tenant,
        credential: Option<&Credential>,
        event: GatewayEvent,
    ) -> Option<Answer> {
        let Some(credential) = credential else { return self.persists("access", event, false).await };
        let (begun, ended) = (Instant::now(), Self::ended(tenant, credential));
        let answer = self.persists("access", event.header("x-api-key", &credential.secret), false).await?;
        if ended.is_some_and(|at| begun > at + NOTICED) && answer.status != 403 {
            self.breaks(format!("a key that ended is admitted: {credential:?} {}", answer.text));
        }
        Some(answer)
    }

    async fn makes_key(&self, tenant: &Tenant) {
        let maker = self.some_maker(tenant, |_| true);
        let scopes: Vec<&str> = SCOPES.into_iter().filter(|_| self.random.happens(600)).collect();
        if scopes.is_empty() {
            return;
        }
        let name = format!("key {:x}", self.random.next());
        let body = json!({ "name": name, "scopes": scopes, "rate": self.random.within(1, 5) });
        let event = self.keyed(tenant.event("access-create.json").body(&body));
        tenant.ledger.borrow_mut().may_change_workspace();
        let Some(answer) = self.sends(tenant, maker.as_ref(), event).await else { return };
        match answer.status {
            201 => self.keeps(tenant, &answer.json, &answer.json["apiKey"], None),
            // The maker lacks a scope, or ended.
            403 | 422 if maker.is_some() => {}
            _ => self.breaks(format!("a key is refused: {}", answer.text)),
        }
    }

    /// Keeps a new key, or a session with its root. The answer of a repeat has no secret.
    fn keeps(&self, tenant: &Tenant, made: &Value, secret: &Value, of_session: Option<Option<String>>) {
        let Some((id, secret)) = made["id"].as_str().zip(secret.as_str()) else { return };
        let is_session = of_session.is_some();
        let root = of_session.unwrap_or_else(|| Some(id.to_owned()));
        let (id, secret) = (id.to_owned(), secret.to_owned());
        let credential = Credential { id, secret, root, is_session, may_end: is_session, ended: None };
        tenant.ledger.borrow_mut().credentials.push(credential);
    }

    /// Makes a link, which several browsers may open at the same moment, and sometimes ends its maker before.
    async fn makes_link(&self, tenant: &Tenant) {
        let maker = self.some_maker(tenant, |_| true);
        let role = *self.random.one_of(&["VIEWER", "DEVELOPER", "ADMIN"]);
        let subject = format!("visitor {:x} of {}", self.random.next(), tenant.number);
        let body = json!({ "role": role, "subject": subject, "sessionSeconds": 3_600 });
        let event = tenant.event("access-portal-link.json").in_workspace(tenant.workspace).body(&body);
        let Some(answer) = self.sends(tenant, maker.as_ref(), event).await else { return };
        let url = match answer.status {
            201 => answer.json["url"].as_str().unwrap_or_default().to_owned(),
            403 | 422 if maker.is_some() => return,
            _ => return self.breaks(format!("a link is refused: {}", answer.text)),
        };
        let token = url.rsplit('/').next().unwrap_or_default();
        if let Some(maker) = maker.as_ref().filter(|maker| !maker.is_session && self.random.happens(300)) {
            self.revokes(tenant, maker).await;
        }
        let browsers = *self.random.one_of(&[1, 1, 2, 3]);
        let opened = join_all((0..browsers).map(|_| self.opens_link(tenant, token, maker.as_ref()))).await;
        if opened.into_iter().filter(|is_started| *is_started).count() > 1 {
            self.breaks(format!("a link started several sessions: {subject}"));
        }
    }

    /// Opens a link. Returns whether that started a session.
    async fn opens_link(&self, tenant: &Tenant, token: &str, maker: Option<&Credential>) -> bool {
        sleep(Duration::from_millis(self.random.below(30))).await;
        let was_ended = maker.is_some_and(|maker| Self::ended(tenant, maker).is_some());
        let event = tenant.event("access-start-session.json").header("x-api-key", token).body(&json!({}));
        let Some(answer) = self.persists("access", event, false).await else { return false };
        match answer.status {
            201 => {
                if was_ended {
                    self.breaks(format!("a link outlives its maker: {maker:?} {}", answer.text));
                }
                let root = maker.and_then(|maker| maker.root.clone());
                self.keeps(tenant, &answer.json["session"], &answer.json["apiKey"], Some(root));
                true
            }
            // The link was used, or its maker ended.
            403 => false,
            _ => {
                self.breaks(format!("a link is answered: {}", answer.text));
                false
            }
        }
    }

    async fn starts_session(&self, tenant: &Tenant, maker: Option<Credential>) {
        let event = tenant.event("access-start-session.json").body(&json!({ "seconds": 3_600 }));
        let Some(answer) = self.sends(tenant, maker.as_ref(), event).await else { return };
        match answer.status {
            201 => {
                let root = maker.and_then(|maker| maker.root);
                self.keeps(tenant, &answer.json["session"], &answer.json["apiKey"], Some(root));
            }
            403 if maker.is_some() => {}
            _ => self.breaks(format!("a session is refused: {}", answer.text)),
        }
    }

    /// Ends a session: by itself, or by the tenant.
    async fn signs_out(&self, tenant: &Tenant) {
        let Some(session) = self.some_credential(tenant, |one| one.is_session) else { return };
        let by_itself = self.random.happens(500);
        let answer = match by_itself {
            true => self.sends(tenant, Some(&session), tenant.event("access-end-session.json")).await,
            false => {
                let event = tenant.event("access-revoke-session.json").path("sessionId", &session.id);
                self.sends(tenant, None, event).await
            }
        };
        match answer.map(|answer| (answer.status, answer.text)) {
            Some((204, _)) => Self::ends(tenant, &session.id, Instant::now()),
            // It ended before.
            Some((403, _)) if by_itself => {}
            Some((_, text)) => self.breaks(format!("the end of a session is refused: {text}")),
            None => {}
        }
    }

    /// Revokes a key while others start sessions with it, also some seconds later.
    async fn revokes_used(&self, tenant: &Tenant) {
        let Some(key) = self.some_credential(tenant, |one| !one.is_session) else { return };
        let user = async || {
            sleep(Duration::from_millis(self.random.below(3_000))).await;
            self.starts_session(tenant, Some(key.clone())).await;
        };
        let users = join_all((0..self.random.below(3)).map(|_| user()));
        tokio::join!(self.revokes(tenant, &key), users);
    }

    /// Revokes a key, with all sessions that began with it.
    async fn revokes(&self, tenant: &Tenant, key: &Credential) {
        Self::asks_to_end(tenant, &key.id);
        let event = tenant.event("access-revoke.json").path("keyId", &key.id);
        match self.sends(tenant, None, event).await.map(|answer| (answer.status, answer.text)) {
            Some((204, _)) => {
                let now = Instant::now();
                tenant.ledger.borrow_mut().ended.entry(key.id.clone()).or_insert(now);
                Self::ends(tenant, &key.id, now);
            }
            Some((_, text)) => self.breaks(format!("a revocation is refused: {text}")),
            None => {}
        }
    }

    /// Lets a key end within a minute.
    async fn shortens(&self, tenant: &Tenant) {
        let Some(key) = self.some_credential(tenant, |one| !one.is_session) else { return };
        Self::asks_to_end(tenant, &key.id);
        let left = Duration::from_secs(self.random.within(20, 60));
        let (asked, ends) = (Instant::now(), self.now().plus(left));
        let body = json!({ "expiresAt": ends.to_string() });
        let event = tenant.event("access-update.json").path("keyId", &key.id).body(&body);
        match self.sends(tenant, None, event).await.map(|answer| (answer.status, answer.text)) {
            Some((200, _)) => {
                let skew = Duration::from_millis(self.faults.levels.skew);
                Self::ends(tenant, &key.id, (asked + left + skew).max(Instant::now()));
            }
            // The moment is past by now, or the key ends earlier.
            Some((422, _)) => {}
            Some((_, text)) => self.breaks(format!("a change of a key is refused: {text}")),
            None => {}
        }
    }

    /// Uses a key or a session.
    async fn presents(&self, tenant: &Tenant) {
        let Some(credential) = self.some_credential(tenant, |_| true) else { return };
        drop(self.sends(tenant, Some(&credential), tenant.event("access-session.json")).await);
    }

    /// Every key that nobody ended is admitted, and no other. None has more than its maker, and no link started two sessions.
    pub(crate) async fn check_credentials(&self, tenant: &Tenant) {
        let credentials = tenant.ledger.borrow().credentials.clone();
        for credential in credentials {
            let event = tenant.event("access-session.json");
            let answer = self.sends(tenant, Some(&credential), event).await;
            if !credential.may_end && answer.as_ref().is_none_or(|answer| answer.status != 200) {
                self.breaks(format!("a key is not admitted: {credential:?} {answer:?}"));
            }
        }
        let rows = self.world.db.rows_of(Table::ApiKeys, "apiKey");
        let own = |row: &&Value| text(&row["workspaceId"]) == Some(&tenant.workspace.to_string());
        let rows: Vec<&Value> = rows.iter().filter(own).collect();
        for row in &rows {
            self.check_scopes(row, &rows);
            let is_session = row["keyKind"]["S"] == "SESSION";
            let root = text(&row["bucket"]).unwrap_or_default();
            if is_session && row["revokedAt"].is_null() && tenant.ledger.borrow().ended.contains_key(root) {
                self.breaks(format!("a session outlives its key: {row}"));
            }
            let is_same = |other: &&&Value| {
                other["keyKind"]["S"] == "SESSION"
                    && row["keyKind"]["S"] == "SESSION"
                    && text(&row["subject"]).is_some()
                    && other["subject"] == row["subject"]
            };
            if rows.iter().filter(is_same).count() > 1 {
                self.breaks(format!("a link started several sessions: {row}"));
            }
        }
    }

    /// A key has no scope that its maker lacks.
    fn check_scopes(&self, row: &Value, rows: &[&Value]) {
        let by = &row["createdBy"]["M"];
        if by["type"]["S"] == "OPERATOR" {
            return;
        }
        let Some(maker) = rows.iter().find(|maker| maker["keyId"] == by["id"]) else {
            return self.breaks(format!("a key without its maker: {row}"));
        };
        let of = |row: &Value| -> Vec<String> {
            let words = row["scopes"]["L"].as_array().into_iter().flatten();
            words.filter_map(|word| text(word).map(str::to_owned)).collect()
        };
        let held = of(maker);
        let has_all = held.iter().any(|word| word == "*");
        let is_held =
            |word: &String| held.contains(word) || has_all && word != "contacts:erase" && word != "*";
        if !of(row).iter().all(is_held) || of(row).is_empty() {
            self.breaks(format!("a key has scopes that its maker lacks: {row} {maker}"));
        }
    }
}
