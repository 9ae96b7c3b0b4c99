//! The errors of calls that were correct.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::error::ResourceNotFoundException;

/// A call failed. Refusals because of the data (a stale version, a taken e-mail address) are not errors but
/// results of each call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The table was throttled, timed out or could not be reached, after all retries. It is safe to try again
    /// later.
    #[error("the store is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The call or the answer was not as this code expects, such as a missing table or a missing permission.
    #[error("the store refused the call")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// The deployment has no person key, or another one than that with which its rows were made. What needs the key
    /// stays undone until the right one is back.
    #[error("the person key cannot be used: {0}")]
    NoPersonKey(&'static str),
    /// This release cannot read a row: an attribute is missing or invalid, or the schema is newer than the
    /// release.
    #[error("row {key} cannot be read: {reason}")]
    Unreadable {
        /// The row's keys (ids, never personal data).
        key: String,
        /// What is wrong with the row.
        reason: String,
    },
}

impl StoreError {
    /// Whether a table does not exist: the deployment's name is wrong, or nothing is deployed.
    pub fn is_missing_table(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = self.source();
        while let Some(error) = cause {
            if error.is::<ResourceNotFoundException>() {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

/// DynamoDB's error codes for "try later" that come with a 4xx status.
const BUSY: &[&str] = &[
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionInProgressException",
];

impl<E> From<SdkError<E>> for StoreError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    fn from(error: SdkError<E>) -> Self {
        let busy = match &error {
            SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) => true,
            SdkError::ServiceError(service) => {
                // An answer to HEAD has no body, and so no code.
                service.raw().status().is_server_error()
                    || service.err().code().is_some_and(|code| BUSY.contains(&code))
            }
            _ => false,
        };
        if busy { Self::Busy(Box::new(error)) } else { Self::Failed(Box::new(error)) }
    }
}

impl StoreError {
    /// The error of one row or item in a call for several.
    pub(crate) fn shared(error: &Arc<Self>) -> Self {
        let cause = Box::new(Arc::clone(error));
        match **error {
            Self::Busy(_) => Self::Busy(cause),
            _ => Self::Failed(cause),
        }
    }
}
