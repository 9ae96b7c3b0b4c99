//! Sessions of the portal, which are keys: what starts one, with which scopes, and for how long.

use std::time::Duration;

use url::Url;

use crate::access::actor::Actor;
use crate::access::api_key::{ApiKey, ApiKeyToken, Grant, RateLimit};
use crate::access::kind::{KeyKind, Link, Visitor};
use crate::access::role::Role;
use crate::access::scope::Permission;
use crate::ids::{KeyId, WorkspaceId};
use crate::text::{Unfit, within};
use crate::time::Timestamp;

/// The keys behind a link: the one that made it, and the one that the chain of its makers began with. `None` if the maker is an
/// operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Makers {
    /// The key or session that made the link.
    pub maker: Option<ApiKey>,
    /// The program's key whose rate limit all of them share.
    pub root: Option<ApiKey>,
}

/// The shortest and the longest life of a session in seconds, and that of a session whose maker names none.
pub const SESSION_SECONDS: (u32, u32, u32) = (300, 86_400, 28_800);
/// The same for a link that a tenant makes.
pub const LINK_SECONDS: (u32, u32, u32) = (60, 3_600, 600);
/// The longest life of a link that an operator makes, in seconds.
const OPERATORS_LINK_SECONDS: u32 = 86_400;
/// The rate limit of such a link and its session.
const OPERATORS_RATE: RateLimit = RateLimit { per_second: 20, burst: 100 };

impl ApiKey {
    /// Whether the key permits this. Whether it is good is another question: [`ApiKey::is_good`].
    pub fn may(&self, wanted: Permission) -> bool {
        match (&self.kind, wanted) {
            (KeyKind::Link(_), _) => wanted == Permission::StartSession,
            (_, Permission::Scope(scope)) => self.scopes.allow(scope),
            (_, Permission::SeeSession) => true,
            (kind, Permission::StartSession) => *kind == KeyKind::Key,
            (kind, Permission::EndSession) => matches!(kind, KeyKind::Session(_)),
        }
    }

    /// The caller of a request with this key.
    pub fn actor(&self) -> Actor {
        match &self.kind {
            KeyKind::Key => Actor::Key(self.id),
            KeyKind::Session(visitor) | KeyKind::Link(Link { visitor, .. }) => {
                Actor::Session { id: self.id, subject: visitor.subject.clone() }
            }
        }
    }

    /// A link of this key to the portal. The caller has checked that the key holds the scopes of the role.
    pub fn link(&self, id: KeyId, link: Link, role: Role, seconds: u32, now: Timestamp) -> Self {
        Self {
            id,
            name: "link".to_owned(),
            kind: KeyKind::Link(link),
            scopes: role.scopes(),
            created_at: now,
            created_by: self.actor(),
            expires_at: Some(after(now, seconds)),
            revoked_at: None,
            ..self.clone()
        }
    }

    /// The session that a program's key starts. It has the scopes of the key and does not outlive it.
    pub fn session(&self, id: KeyId, seconds: u32, now: Timestamp) -> Self {
        let key = Self { scopes: self.scopes.by_name(), created_by: self.actor(), ..self.clone() };
        key.into_session(id, Visitor::default(), (after(now, seconds), self.expires_at), now)
    }

    /// The session that this link starts, with the scopes that the link's maker still holds. `None` if one of the link's makers is
    /// not good any more.
    pub fn linked_session(&self, link: &Link, makers: &Makers, id: KeyId, now: Timestamp) -> Option<Self> {
        let is_of_operator = matches!(self.created_by, Actor::Operator(_));
        let maker = makers.maker.as_ref().filter(|maker| maker.is_good(now));
        // A root without a row is an operator's link: rows of keys stay for days longer than sessions live.
        if !(is_of_operator || maker.is_some()) || makers.root.as_ref().is_some_and(|root| !root.is_good(now))
        {
            return None;
        }
        let scopes = maker.map_or_else(|| self.scopes.clone(), |maker| self.scopes.within(&maker.scopes));
        let root_ends = makers.root.as_ref().and_then(|root| root.expires_at);
        let ends = (after(now, link.session_seconds), root_ends);
        Some(Self { scopes, ..self.clone() }.into_session(id, link.visitor.clone(), ends, now))
    }

    /// A session with the scopes, the maker and the bucket of this key. It ends at the earlier of the two times.
    fn into_session(
        self,
        id: KeyId,
        visitor: Visitor,
        (lasts_until, root_ends): (Timestamp, Option<Timestamp>),
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            name: "session".to_owned(),
            kind: KeyKind::Session(visitor),
            created_at: now,
            expires_at: Some(root_ends.map_or(lasts_until, |at| at.min(lasts_until))),
            revoked_at: None,
            ..self
        }
    }

    /// A link of an operator. It has a rate limit of its own.
    pub fn operators_link(
        id: KeyId,
        workspace_id: WorkspaceId,
        visitor: Visitor,
        (role, until): (Role, Timestamp),
        operator: Actor,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        if !(after(now, LINK_SECONDS.0)..=after(now, OPERATORS_LINK_SECONDS)).contains(&until) {
            return Err(Unfit::Value { reason: "a link is valid for one minute to 24 hours" });
        }
        let link = Link { visitor, session_seconds: SESSION_SECONDS.2, used_at: None };
        let grant = Grant { scopes: role.scopes(), rate: OPERATORS_RATE, expires_at: Some(until) };
        let key = Self::new(id, workspace_id, "link", grant, operator, now)?;
        Ok(Self { kind: KeyKind::Link(link), ..key })
    }

    /// The link, used now.
    pub fn used(&self, now: Timestamp) -> Self {
        let mut next = self.clone();
        if let KeyKind::Link(link) = &mut next.kind {
            link.used_at = Some(now);
        }
        next
    }
}

fn after(now: Timestamp, seconds: u32) -> Timestamp {
    now.plus(Duration::from_secs(seconds.into()))
}

/// The address at which a link starts its session. The token stands in the fragment, which no browser sends to a server. If the
/// person has to confirm, programs that open links of messages do not spend this one.
pub fn portal_url(base: &str, workspace: WorkspaceId, token: &ApiKeyToken, confirms: bool) -> String {
    let confirm = if confirms { "/confirm" } else { "" };
    format!("{base}/portal/index.html#/sign-in/{workspace}/{}{confirm}", token.expose())
}

/// Parses the URL that the portal leads back to: HTTPS, without a user, at most 2,048 characters.
pub fn return_url(text: &str) -> Result<String, Unfit> {
    within(text, 1, 2_048)?;
    let is_plain = !text.chars().any(|c| c.is_control() || c.is_whitespace());
    let url = Url::parse(text).ok().filter(|url| is_plain && url.scheme() == "https");
    match url.filter(|url| url.username().is_empty() && url.password().is_none()) {
        Some(url) => Ok(url.into()),
        None => Err(Unfit::Value { reason: "not an https URL without a user" }),
    }
}

#[cfg(test)]
mod tests;
