//! The names of a deployment's tables: the stack's name, a dash, and the table's name.

use std::sync::Arc;

/// One table of the data model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Workspaces with their settings, users, teams, attributes, lines, templates and webhook endpoints.
    Workspaces,
    /// API keys by SHA-256.
    ApiKeys,
    /// The rate limiter's buckets, and the throttle states of lines.
    Limits,
    /// Contacts with their identity and search rows.
    Contacts,
    /// Conversations with their copies in lists.
    Conversations,
    /// Messages, entries of messages to send, lanes of conversations, and onboarding plans.
    Messages,
    /// Files that were created for upload.
    Media,
    /// Leads, and the rows that prevent a lead from being accepted twice.
    Leads,
    /// Events, their deliveries by endpoint, and the lanes of webhooks.
    Webhooks,
    /// Secrets of the service and of webhook endpoints.
    Secrets,
    /// The audit logs of workspaces.
    Audit,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 11] = [
        Self::Workspaces,
        Self::ApiKeys,
        Self::Limits,
        Self::Contacts,
        Self::Conversations,
        Self::Messages,
        Self::Media,
        Self::Leads,
        Self::Webhooks,
        Self::Secrets,
        Self::Audit,
    ];

    /// The table's name after the stack's name and the dash.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Workspaces => "workspaces",
            Self::ApiKeys => "api-keys",
            Self::Limits => "limits",
            Self::Contacts => "contacts",
            Self::Conversations => "conversations",
            Self::Messages => "messages",
            Self::Media => "media",
            Self::Leads => "leads",
            Self::Webhooks => "webhooks",
            Self::Secrets => "secrets",
            Self::Audit => "audit",
        }
    }
}

/// The tables of one deployment.
#[derive(Clone, Debug)]
pub struct Tables {
    names: Arc<[(Table, String); 11]>,
}

impl Tables {
    /// The tables of the stack with this name.
    pub fn of_stack(stack: &str) -> Self {
        Self { names: Arc::new(Table::ALL.map(|table| (table, format!("{stack}-{}", table.suffix())))) }
    }

    /// The full name of a table.
    pub fn name(&self, table: Table) -> &str {
        self.names.iter().find(|(named, _)| *named == table).map_or("", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_after_its_stack() {
        let tables = Tables::of_stack("messaging");
        let names: Vec<&str> = Table::ALL.iter().map(|table| tables.name(*table)).collect();
        assert_eq!(
            names,
            [
                "messaging-workspaces",
                "messaging-api-keys",
                "messaging-limits",
                "messaging-contacts",
                "messaging-conversations",
                "messaging-messages",
                "messaging-media",
                "messaging-leads",
                "messaging-webhooks",
                "messaging-secrets",
                "messaging-audit"
            ]
        );
    }
}
