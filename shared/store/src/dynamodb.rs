//! DynamoDB's calls and the shapes of the SDK: items and their fields, single writes and transactions, batches, strong
//! reads, and pages of lists. No row of a subject is known here.

pub(crate) mod batch;
pub(crate) mod fields;
pub(crate) mod item;
pub(crate) mod paging;
pub(crate) mod read;
pub(crate) mod retry;
pub(crate) mod update;
pub(crate) mod versions;
pub(crate) mod write;
