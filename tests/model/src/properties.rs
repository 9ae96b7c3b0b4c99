//! The properties that must hold in every history.

/// No two visitors work on a lane at the same time.
pub const ONE_VISITOR: &str = "a lane has one visitor";
/// A lane with work is due.
pub const DUTY: &str = "a lane that was notified of work is due";
/// The due time is near.
pub const SOON: &str = "a lane that was notified of work is due soon";
/// A waiting delivery can be found.
pub const FOUND: &str = "a waiting delivery has a pointer that a visitor will read";
/// All work is done in the end.
pub const ALL_DONE: &str = "when no step is possible, all work is done";
/// No needless repeats.
pub const NOT_AGAIN: &str = "a delivered event is not attempted again";
/// Retries keep their waiting time.
pub const NOT_EARLY: &str = "no delivery is attempted before its time";
/// A home row without its event is not attempted.
pub const EVENT_THERE: &str = "no delivery is attempted without its event";
/// A job skips no row.
pub const JOB_WHOLE: &str = "a finished job attempted all its rows";
/// A job attempts no row twice.
pub const JOB_ONCE: &str = "a job does not repeat an attempt that it recorded";
/// A cancelled job stops.
pub const CANCELLED: &str = "a cancelled job ends with the current page";

/// Messages keep their order.
pub const IN_ORDER: &str = "no message overtakes another";
/// A message is sent at most once.
pub const ONCE: &str = "a message whose call reached the provider is not sent again";
/// An unknown outcome has a cause.
pub const KNOWN: &str = "a message is unknown only if a visitor died or ran out of time";

// States that the bounds must reach. Otherwise a run proves too little.

/// A delivery uses up its schedule.
pub const EXHAUSTED: &str = "a delivery is exhausted";
/// A visitor reads a home row before its event exists.
pub const PUT_OFF: &str = "a delivery waits for its event";
/// A key arrives before `base`.
pub const LATE: &str = "a lease finds a key before base";
/// Two visitors died in a row.
pub const CAREFUL: &str = "a visitor is in careful mode";
/// A job that had rows to attempt is finished.
pub const JOB_DONE: &str = "a job is finished";
/// A job was cancelled after its first page.
pub const JOB_STOPPED: &str = "a job is cancelled while it runs";
