//! What keys allow.

use crate::text::Unfit;

/// One scope of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Endpoints 2 and 3.
    ConversationsRead,
    /// Endpoints 1 and 4.
    ConversationsWrite,
    /// Endpoints 5 and 6.
    ContactsRead,
    /// Endpoint 7.
    ContactsWrite,
    /// Endpoint 8.
    SettingsRead,
    /// Endpoint 9.
    UsersRead,
    /// Endpoint 10.
    FilesWrite,
    /// Endpoint 11.
    MessagesWrite,
    /// A file.
    FilesRead,
    /// The messages of a conversation, and one of them.
    MessagesRead,
    /// The templates that messages can be, and their previews.
    TemplatesRead,
    /// Erasures of persons, and their previews. `*` does not include it, because nobody can undo an erasure.
    ContactsErase,
    /// The API keys of the workspace, without their secret values.
    KeysRead,
    /// The API keys: create, change and revoke them.
    KeysWrite,
    /// The audit log.
    AuditRead,
    /// The portal: links to it, and the sessions of its users.
    PortalWrite,
    /// The webhook endpoints of the workspace, without their secrets.
    WebhooksRead,
    /// The webhook endpoints: create, change and delete them, and rotate their secrets.
    WebhooksWrite,
    /// The deliveries to webhook endpoints with their attempts, without the bodies of events, and the jobs.
    DeliveriesRead,
    /// Deliver again, request and cancel jobs, and send test events.
    DeliveriesWrite,
    /// The events that were recorded for webhook endpoints, with their bodies.
    EventsRead,
    /// The settings of the workspace: change the templates that open conversations.
    SettingsWrite,
    /// The leads of the workspace, with the visitors' data and consents.
    LeadsRead,
    /// Retry leads.
    LeadsWrite,
    /// The internal users and the teams: create and change them.
    UsersWrite,
    /// The counts of what happened in the workspace.
    UsageRead,
}

impl Scope {
    const ALL: &'static [(&'static str, Scope)] = &[
        ("conversations:read", Self::ConversationsRead),
        ("conversations:write", Self::ConversationsWrite),
        ("contacts:read", Self::ContactsRead),
        ("contacts:write", Self::ContactsWrite),
        ("settings:read", Self::SettingsRead),
        ("users:read", Self::UsersRead),
        ("files:write", Self::FilesWrite),
        ("messages:write", Self::MessagesWrite),
        ("files:read", Self::FilesRead),
        ("messages:read", Self::MessagesRead),
        ("templates:read", Self::TemplatesRead),
        ("contacts:erase", Self::ContactsErase),
        ("keys:read", Self::KeysRead),
        ("keys:write", Self::KeysWrite),
        ("audit:read", Self::AuditRead),
        ("portal:write", Self::PortalWrite),
        ("webhooks:read", Self::WebhooksRead),
        ("webhooks:write", Self::WebhooksWrite),
        ("deliveries:read", Self::DeliveriesRead),
        ("deliveries:write", Self::DeliveriesWrite),
        ("events:read", Self::EventsRead),
        ("settings:write", Self::SettingsWrite),
        ("leads:read", Self::LeadsRead),
        ("leads:write", Self::LeadsWrite),
        ("users:write", Self::UsersWrite),
        ("usage:read", Self::UsageRead),
    ];

    /// The names of the scopes. The last one is `*`: every scope, including future ones, but not `contacts:erase`.
    pub const NAMES: &'static [&'static str] = &[
        "conversations:read",
        "conversations:write",
        "contacts:read",
        "contacts:write",
        "settings:read",
        "users:read",
        "files:write",
        "messages:write",
        "files:read",
        "messages:read",
        "templates:read",
        "contacts:erase",
        "keys:read",
        "keys:write",
        "audit:read",
        "portal:write",
        "webhooks:read",
        "webhooks:write",
        "deliveries:read",
        "deliveries:write",
        "events:read",
        "settings:write",
        "leads:read",
        "leads:write",
        "users:write",
        "usage:read",
        "*",
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, scope)| *scope == self).map_or("", |(name, _)| name)
    }

    /// Whether it lets a tenant manage the workspace. Without self-service, no key has it.
    pub fn manages(self) -> bool {
        matches!(
            self,
            Self::KeysRead
                | Self::KeysWrite
                | Self::AuditRead
                | Self::PortalWrite
                | Self::WebhooksRead
                | Self::WebhooksWrite
                | Self::DeliveriesRead
                | Self::DeliveriesWrite
                | Self::EventsRead
                | Self::SettingsWrite
                | Self::LeadsRead
                | Self::LeadsWrite
                | Self::UsersWrite
                | Self::UsageRead
        )
    }

    /// Whether `*` includes it.
    fn is_in_all(self) -> bool {
        self != Self::ContactsErase
    }
}

/// The scopes of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes {
    /// Whether `*` is among them: every scope, including future ones, that does not have to be named.
    all: bool,
    /// The scopes that are named, sorted, without duplicates and without those that `*` includes.
    named: Vec<Scope>,
}

impl Scopes {
    /// Parses scope names from [`Scope::NAMES`].
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, Unfit> {
        let (mut all, mut named) = (false, vec![]);
        for word in words {
            match Scope::ALL.iter().find(|(name, _)| *name == word) {
                Some((_, scope)) => named.push(*scope),
                None if word == "*" => all = true,
                None => return Err(Unfit::NotOneOf { expected: Scope::NAMES }),
            }
        }
        named.retain(|scope| !(all && scope.is_in_all()));
        named.sort_unstable();
        named.dedup();
        Ok(Self { all, named })
    }

    /// The names of the scopes, for rows and lists.
    pub fn names(&self) -> Vec<&'static str> {
        let all = self.all.then_some("*");
        all.into_iter().chain(self.named.iter().map(|scope| scope.as_str())).collect()
    }

    /// The names of these scopes that are not `held`. `*` is never held, because it includes future scopes.
    pub fn beyond(&self, held: &Self) -> Vec<&'static str> {
        let all = self.all.then_some("*");
        let lacking = self.named.iter().filter(|scope| !held.allow(**scope));
        all.into_iter().chain(lacking.map(|scope| scope.as_str())).collect()
    }

    /// These scopes, without a duplicate.
    pub(crate) fn of(scopes: &[Scope]) -> Self {
        let mut named = scopes.to_vec();
        named.sort_unstable();
        named.dedup();
        Self { all: false, named }
    }

    /// Every scope that `*` includes, by its name.
    pub fn all_by_name() -> Self {
        let all = Scope::ALL.iter().map(|(_, scope)| *scope).filter(|scope| scope.is_in_all());
        Self { all: false, named: all.collect() }
    }

    /// The same scopes, each by its name: without those of later releases.
    pub fn by_name(&self) -> Self {
        let held = Scope::ALL.iter().map(|(_, scope)| *scope).filter(|scope| self.allow(*scope));
        Self { all: false, named: held.collect() }
    }

    /// Those of these scopes that are `held`, each by its name.
    pub fn within(&self, held: &Self) -> Self {
        let mut both = self.by_name();
        both.named.retain(|scope| held.allow(*scope));
        both
    }

    /// Whether these scopes include `wanted`.
    pub fn allow(&self, wanted: Scope) -> bool {
        self.all && wanted.is_in_all() || self.named.contains(&wanted)
    }
}

/// What a route asks of the caller's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The scope, of a key or a session.
    Scope(Scope),
    /// Only that it is a key or a session.
    SeeSession,
    /// That it is a key or a link.
    StartSession,
    /// That it is a session.
    EndSession,
}

impl From<Scope> for Permission {
    fn from(scope: Scope) -> Self {
        Self::Scope(scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_allow_only_what_they_list_and_a_star_allows_all() {
        let reading = Scopes::parse(["users:read", "contacts:read", "users:read"]).unwrap();
        assert_eq!(reading.names(), ["contacts:read", "users:read"]);
        assert!(reading.allow(Scope::UsersRead));
        assert!(!reading.allow(Scope::ContactsWrite));
        let all = Scopes::parse(["users:read", "*"]).unwrap();
        assert_eq!((all.names(), all.allow(Scope::MessagesWrite)), (vec!["*"], true));
        // What nobody can undo must be named.
        assert!(!all.allow(Scope::ContactsErase));
        let erasing = Scopes::parse(["contacts:erase", "*", "users:read"]).unwrap();
        assert_eq!(erasing.names(), ["*", "contacts:erase"]);
        assert!(erasing.allow(Scope::ContactsErase) && erasing.allow(Scope::FilesRead));
        assert!(Scopes::parse(["contacts"]).is_err());
        assert_eq!(Scope::NAMES.len(), Scope::ALL.len() + 1);
    }

    #[test]
    fn a_key_grants_only_scopes_that_it_holds() {
        let scopes = |names: &[&'static str]| Scopes::parse(names.iter().copied()).unwrap();
        for (held, _) in Scope::ALL {
            for (wanted, _) in Scope::ALL {
                let beyond = scopes(&[wanted]).beyond(&scopes(&[held]));
                assert_eq!(beyond.is_empty(), held == wanted, "{held} {wanted}");
            }
            let of_all = scopes(&[held]).beyond(&scopes(&["*"]));
            assert_eq!(of_all.is_empty(), *held != "contacts:erase", "{held}");
            assert_eq!(scopes(&["*"]).beyond(&scopes(&[held])), ["*"]);
        }
        let every = ["*", "contacts:erase"];
        assert_eq!(scopes(&every).beyond(&scopes(&every)), ["*"], "nobody grants future scopes");
        let wanted = scopes(&["users:read", "files:read", "keys:read"]);
        assert_eq!(wanted.beyond(&scopes(&["files:read"])), ["users:read", "keys:read"]);
    }
}
