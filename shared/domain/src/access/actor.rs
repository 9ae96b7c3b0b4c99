//! Who makes a change.

use crate::ids::KeyId;
use crate::text::Unfit;

/// Who makes a change: for the API the key, for the portal the session, for the console the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An API key.
    Key(KeyId),
    /// A session of the portal.
    Session {
        /// The id of the session.
        id: KeyId,
        /// Who is in the session, if its link says so.
        subject: Option<String>,
    },
    /// An operator, by the id of the AWS access key with which the console works. CloudTrail says whose it is.
    Operator(String),
}

/// Who makes a change, and in which request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// Who makes the change.
    pub actor: Actor,
    /// The id of the request of the API. A command of the console has none.
    pub request_id: Option<String>,
}

impl Actor {
    /// An actor from [`Actor::kind`], [`Actor::id`] and [`Actor::subject`].
    pub fn parse(kind: &str, id: &str, subject: Option<String>) -> Result<Self, Unfit> {
        match kind {
            "KEY" => KeyId::parse(id).map(Self::Key),
            "SESSION" => KeyId::parse(id).map(|id| Self::Session { id, subject }),
            "OPERATOR" => Ok(Self::Operator(id.to_owned())),
            _ => Err(Unfit::NotOneOf { expected: &["KEY", "SESSION", "OPERATOR"] }),
        }
    }

    /// The kind of actor, as rows and lists name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "KEY",
            Self::Session { .. } => "SESSION",
            Self::Operator(_) => "OPERATOR",
        }
    }

    /// The id of the key, the session or the operator.
    pub fn id(&self) -> String {
        match self {
            Self::Key(id) | Self::Session { id, .. } => id.to_string(),
            Self::Operator(id) => id.clone(),
        }
    }

    /// Who is in the session.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Session { subject, .. } => subject.as_deref(),
            Self::Key(_) | Self::Operator(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_parsed_from_its_kind_and_id() {
        let id = "7d3f9b1c-5e2a-4d6f-8b0c-1e3a5c7d9f2b";
        let key = KeyId::parse(id).unwrap();
        for actor in [
            Actor::Key(key),
            Actor::Session { id: key, subject: None },
            Actor::Session { id: key, subject: Some("ana@example.com".to_owned()) },
            Actor::Operator("AKIDOPERATOR".to_owned()),
        ] {
            let subject = actor.subject().map(str::to_owned);
            assert_eq!(Actor::parse(actor.kind(), &actor.id(), subject), Ok(actor));
        }
        for (kind, id) in [("KEY", "AKIDOPERATOR"), ("key", id), ("", id)] {
            assert!(Actor::parse(kind, id, None).is_err(), "{kind} {id}");
        }
    }
}
