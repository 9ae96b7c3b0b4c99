//! Arguments that several verbs take.

use clap::Args;
use domain::{Cellphone, ContactId, ContactRef, DeliveryId, Email, UserId, UserRef, WorkspaceId};

/// The environment variable with the workspace of the verbs that are not given one.
pub(crate) const WORKSPACE: &str = "CONSOLE_WORKSPACE";

/// The workspace of a verb.
#[derive(Args)]
pub(crate) struct InWorkspace {
    /// The workspace's id.
    #[arg(long = "workspace", value_name = "ID", env = WORKSPACE, value_parser = WorkspaceId::parse)]
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

/// Parses a contact's id, e-mail address or phone number.
pub(crate) fn contact_ref(text: &str) -> Result<ContactRef, &'static str> {
    let id = ContactId::parse(text).map(ContactRef::Id);
    let email = || Email::parse(text).map(ContactRef::Email);
    let cellphone = || Cellphone::parse(text).map(ContactRef::Cellphone);
    id.or_else(|_| email())
        .or_else(|_| cellphone())
        .map_err(|_| "should be a contact's id, e-mail address or phone number (+14155550123)")
}

/// Parses a delivery's id as `delivery list` prints it.
pub(crate) fn delivery_id(text: &str) -> Result<DeliveryId, &'static str> {
    DeliveryId::parse(text).map_err(|_| {
        "should be <event id>.<endpoint id>, as `delivery list` prints it: \
        d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd.3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"
    })
}
