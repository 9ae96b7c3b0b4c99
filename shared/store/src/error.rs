//! What can go wrong with a call that was right.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// A call that could not be carried out. Refusals of the data (a stale version, a taken e-mail) are not errors
/// but outcomes, each call's own.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The table was throttled, timed out or was not reached, after the retries: trying later is safe.
    #[error("the store is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The call or the answer was not as this code expects: a missing table, a denied right.
    #[error("the store refused the call")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// A row that this release cannot read: an attribute missing or unfit, or a schema newer than it knows.
    #[error("row {key} cannot be read: {reason}")]
    Unreadable {
        /// The row's keys (ids, never personal data).
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// Whether a table does not exist: the deployment's name is wrong, or nothing is deployed.
    pub fn is_missing_table(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = self.source();
        while let Some(error) = cause {
            if error.to_string().starts_with("ResourceNotFoundException") {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

/// DynamoDB's names for "try later" where the status says that the caller is at fault.
const BUSY: &[&str] = &[
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
    /// One failed call as the failure of one of those that travelled in it.
    pub(crate) fn shared(error: &Arc<Self>) -> Self {
        let cause = Box::new(Arc::clone(error));
        match **error {
            Self::Busy(_) => Self::Busy(cause),
            _ => Self::Failed(cause),
        }
    }
}
