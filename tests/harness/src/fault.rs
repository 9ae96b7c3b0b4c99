//! How a call fails, and when a process dies.

/// A way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// DynamoDB or S3 throttles the call. It is not executed.
    Throttled,
    /// Another transaction holds one of the items. The call is not executed.
    Conflict,
    /// An item of the transaction is in a throttled partition. The transaction is not executed.
    ItemThrottled,
    /// The call is executed, but its response is lost.
    AnswerLost,
    /// The database or the bucket cannot be reached. The call is not executed.
    Unreachable,
    /// The iterator of a stream has expired. The call is not executed.
    Expired,
    /// The batch processes none of its keys or puts.
    Unprocessed,
    /// The batch processes the first half of its keys or puts, rounded down, and leaves the rest.
    HalfProcessed,
}

/// The moment at which a process dies: during a database call whose result it never sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Before the call is executed.
    Before,
    /// After the call is executed.
    After,
}
