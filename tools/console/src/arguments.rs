//! Arguments that several verbs take.

use clap::Args;
use domain::{DeliveryId, Email, Timestamp, Unfit, UserId, UserRef, WorkspaceId};

/// The workspace of a verb.
#[derive(Args)]
pub(crate) struct InWorkspace {
    /// The workspace's id.
    #[arg(long = "workspace", value_name = "ID", value_parser = WorkspaceId::parse)]
    pub(crate) workspace: WorkspaceId,
}

/// Parses a user's id or e-mail address.
pub(crate) fn user_ref(text: &str) -> Result<UserRef, String> {
    match (UserId::parse(text), Email::parse(text)) {
        (Ok(id), _) => Ok(UserRef::Id(id)),
        (_, Ok(email)) => Ok(UserRef::Email(email)),
        _ => Err("should be a user's id or e-mail address".to_owned()),
    }
}

/// Parses a time: a date-time with its offset, or a day, which begins at midnight UTC.
pub(crate) fn moment(text: &str) -> Result<Timestamp, Unfit> {
    Timestamp::parse(text)
        .or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")))
        .ok_or(Unfit::Value { reason: "should be a day (2027-01-31) or a date-time (2027-01-31T12:00:00Z)" })
}

/// Parses a delivery's id as `delivery list` prints it.
pub(crate) fn delivery_id(text: &str) -> Result<DeliveryId, &'static str> {
    DeliveryId::parse(text).map_err(|_| {
        "should be <event id>.<endpoint id>, as `delivery list` prints it: \
        d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd.3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"
    })
}
