//! Roles: named sets of scopes for people in the portal.

use crate::access::scope::{Scope, Scopes};
use crate::words::words;

/// A named set of scopes. Each role includes the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads settings, and nothing about customers.
    Viewer,
    /// Also reads what customers and the service wrote, and which keys there are, and manages webhook endpoints and deliveries.
    Developer,
    /// Every scope that `*` includes, by its name: scopes of later releases are not among them.
    Admin,
}

words!(
    /// The names in rows and requests.
    Role { Viewer: "VIEWER", Developer: "DEVELOPER", Admin: "ADMIN" }
);

impl Role {
    const VIEWER: &'static [Scope] = &[
        Scope::SettingsRead,
        Scope::UsersRead,
        Scope::TemplatesRead,
        Scope::WebhooksRead,
        Scope::DeliveriesRead,
        Scope::UsageRead,
    ];
    const DEVELOPER: &'static [Scope] = &[
        Scope::ConversationsRead,
        Scope::MessagesRead,
        Scope::ContactsRead,
        Scope::FilesRead,
        Scope::KeysRead,
        Scope::WebhooksWrite,
        Scope::DeliveriesWrite,
        Scope::EventsRead,
        Scope::LeadsRead,
    ];

    /// The scopes of the role.
    pub fn scopes(self) -> Scopes {
        match self {
            Self::Viewer => Scopes::of(Self::VIEWER),
            Self::Developer => Scopes::of(&[Self::VIEWER, Self::DEVELOPER].concat()),
            Self::Admin => Scopes::all_by_name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_grow_from_viewer_to_admin() {
        let [viewer, developer, admin] = Role::ALL.map(Role::scopes);
        assert_eq!(
            viewer.names(),
            [
                "settings:read",
                "users:read",
                "templates:read",
                "webhooks:read",
                "deliveries:read",
                "usage:read"
            ]
        );
        for (smaller, larger) in [(&viewer, &developer), (&developer, &admin)] {
            assert!(smaller.beyond(larger).is_empty(), "{smaller:?} {larger:?}");
            assert!(!larger.beyond(smaller).is_empty());
        }
        let changes = |names: &[&'static str]| {
            let verbs = |name: &&&str| name.ends_with(":write") || name.ends_with(":erase");
            names.iter().filter(verbs).copied().collect::<Vec<_>>()
        };
        assert_eq!(changes(&viewer.names()), Vec::<&str>::new());
        assert_eq!(changes(&developer.names()), ["webhooks:write", "deliveries:write"], "no customers' data");
        assert!(!admin.names().contains(&"*") && !admin.names().contains(&"contacts:erase"));
        assert_eq!(admin.names().len(), Scope::NAMES.len() - 2);
    }
}
