//! The names of a deployment's tables: the stack's name, a dash, the table's.

use std::sync::Arc;

/// One table of the data model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Settings, users, teams, attributes, webhook endpoints.
    Workspaces,
    /// API keys by SHA-256.
    ApiKeys,
    /// The rate limiter's buckets.
    Limits,
    /// Contacts with their lookup and search rows.
    Contacts,
    /// Conversations with the rows by which they are listed.
    Conversations,
    /// Messages, what of them is still to be sent, onboarding plans.
    Messages,
    /// Files made ready for upload.
    Media,
    /// Leads, and what keeps each from being taken twice.
    Leads,
    /// Events, and their deliveries by endpoint.
    Webhooks,
    /// Secrets of the service and of webhook endpoints.
    Secrets,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 10] = [
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
    ];

    /// The name behind the stack's.
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
        }
    }
}

/// The tables of one deployment.
#[derive(Clone, Debug)]
pub struct Tables {
    names: Arc<[String; 10]>,
}

impl Tables {
    /// The tables of the stack of that name.
    pub fn of_stack(stack: &str) -> Self {
        Self { names: Arc::new(Table::ALL.map(|table| format!("{stack}-{}", table.suffix()))) }
    }

    /// The full name of a table.
    pub fn name(&self, table: Table) -> &str {
        &self.names[table as usize]
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
                "messaging-secrets"
            ]
        );
    }
}
