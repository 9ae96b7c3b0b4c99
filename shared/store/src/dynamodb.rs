//! DynamoDB's calls and the SDK's types: items and their fields, single writes and transactions, batches,
//! strongly consistent reads, and pages of lists. The rows of subjects are defined elsewhere.
//!
//! Each call of the SDK is boxed. Its future has 5 to 7 KB, and the futures of requests, which contain those of their calls
//! several times, are moved more than once.

pub(crate) mod batch;
pub(crate) mod fields;
pub(crate) mod item;
pub(crate) mod paging;
pub(crate) mod read;
pub(crate) mod retry;
pub(crate) mod update;
pub(crate) mod versions;
pub(crate) mod write;
