//! The kinds of keys: a program's key, a person's session in the portal, and the link that starts one.

use crate::access::role::Role;
use crate::time::Timestamp;

/// What a key is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A program.
    Key,
    /// A person in a browser, for a day at most.
    Session(Visitor),
    /// It starts one session, once.
    Link(Link),
}

/// The person in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visitor {
    /// The role by which the session was started. A session that a key started has the scopes of the key.
    pub role: Option<Role>,
    /// Who that is, for the maker of the link: an e-mail address, an id.
    pub subject: Option<String>,
    /// Where the portal leads back to.
    pub return_url: Option<String>,
}

/// What a link starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The person in the session.
    pub visitor: Visitor,
    /// How long the session lasts, in seconds.
    pub session_seconds: u32,
    /// When the link was used.
    pub used_at: Option<Timestamp>,
}

impl KeyKind {
    /// The name in rows and answers.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Key => "KEY",
            Self::Session(_) => "SESSION",
            Self::Link(_) => "LINK",
        }
    }

    /// The person in the session or in the one that the link starts.
    pub fn visitor(&self) -> Option<&Visitor> {
        match self {
            Self::Key => None,
            Self::Session(visitor) | Self::Link(Link { visitor, .. }) => Some(visitor),
        }
    }

    /// The role of the person.
    pub fn role(&self) -> Option<Role> {
        self.visitor().and_then(|visitor| visitor.role)
    }

    /// Who the person is, for the maker of the link.
    pub fn subject(&self) -> Option<&str> {
        self.visitor().and_then(|visitor| visitor.subject.as_deref())
    }

    /// Whether it is a link that started its session.
    pub fn is_used(&self) -> bool {
        matches!(self, Self::Link(Link { used_at: Some(_), .. }))
    }
}
