//! The progress of a send, in the rows of leads and of messages.

use domain::Timestamp;
use domain::sending::Progress;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dynamodb::fields;

/// The progress of a send, in a message and in a lead.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Progress", rename_all = "camelCase")]
pub(crate) struct ProgressField {
    failures: u32,
    throttled: u32,
    #[serde(rename = "paused", default, skip_serializing_if = "std::ops::Not::not")]
    is_paused: bool,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    next_at: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    calling: Option<Uuid>,
}
