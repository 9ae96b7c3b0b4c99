//! The progress of a send and its error, in the rows of messages and of leads.

use domain::Timestamp;
use domain::sending::{PartError, Progress};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dynamodb::fields;

/// The progress of the part at hand of a message.
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

/// Why a part of a message, or a lead, is not sent.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_detail: Option<String>,
}

impl From<&Option<PartError>> for ErrorFields {
    fn from(error: &Option<PartError>) -> Self {
        let error = error.as_ref();
        Self {
            error: error.map(|error| error.as_str().to_owned()),
            error_detail: error.and_then(PartError::detail).map(str::to_owned),
        }
    }
}

impl From<ErrorFields> for Option<PartError> {
    fn from(ErrorFields { error, error_detail }: ErrorFields) -> Self {
        Some(PartError::of(error?).because_of(error_detail))
    }
}
