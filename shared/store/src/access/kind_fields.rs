//! The kind of a key as attributes of its row.

use domain::access::kind::{Link, Visitor};
use domain::{KeyKind, Role, Timestamp, Unfit};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KindFields {
    key_kind: String,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_seconds: Option<u32>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    used_at: Option<Timestamp>,
}

impl From<&KeyKind> for KindFields {
    fn from(kind: &KeyKind) -> Self {
        let Visitor { role, subject, return_url } = kind.visitor().cloned().unwrap_or_default();
        let (session_seconds, used_at) = match kind {
            KeyKind::Link(link) => (Some(link.session_seconds), link.used_at),
            KeyKind::Key | KeyKind::Session(_) => (None, None),
        };
        Self { key_kind: kind.as_str().to_owned(), role, subject, return_url, session_seconds, used_at }
    }
}

impl TryFrom<KindFields> for KeyKind {
    type Error = Unfit;

    fn try_from(stored: KindFields) -> Result<Self, Unfit> {
        let KindFields { key_kind, role, subject, return_url, session_seconds, used_at } = stored;
        let visitor = Visitor { role, subject, return_url };
        match (key_kind.as_str(), session_seconds) {
            ("KEY", _) => Ok(Self::Key),
            ("SESSION", _) => Ok(Self::Session(visitor)),
            ("LINK", Some(session_seconds)) => Ok(Self::Link(Link { visitor, session_seconds, used_at })),
            _ => Err(Unfit::NotOneOf { expected: &["KEY", "SESSION", "LINK"] }),
        }
    }
}
