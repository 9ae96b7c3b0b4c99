//! Who makes a change.

use crate::ids::KeyId;
use crate::text::Unfit;

/// Who makes a change: for the API the key, for the console the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An API key.
    Key(KeyId),
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
    /// An actor from [`Actor::kind`] and [`Actor::id`].
    pub fn parse(kind: &str, id: &str) -> Result<Self, Unfit> {
        match kind {
            "KEY" => KeyId::parse(id).map(Self::Key),
            "OPERATOR" => Ok(Self::Operator(id.to_owned())),
            _ => Err(Unfit::NotOneOf { expected: &["KEY", "OPERATOR"] }),
        }
    }

    /// The kind of actor, as rows and lists name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "KEY",
            Self::Operator(_) => "OPERATOR",
        }
    }

    /// The id of the key or of the operator.
    pub fn id(&self) -> String {
        match self {
            Self::Key(id) => id.to_string(),
            Self::Operator(id) => id.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_parsed_from_its_kind_and_id() {
        let id = "7d3f9b1c-5e2a-4d6f-8b0c-1e3a5c7d9f2b";
        for actor in [Actor::Key(KeyId::parse(id).unwrap()), Actor::Operator("AKIDOPERATOR".to_owned())] {
            assert_eq!(Actor::parse(actor.kind(), &actor.id()), Ok(actor));
        }
        for (kind, id) in [("KEY", "AKIDOPERATOR"), ("key", id), ("", id)] {
            assert!(Actor::parse(kind, id).is_err(), "{kind} {id}");
        }
    }
}
