//! What the function works with.

use std::time::Duration;

use runtime::Metrics;
use store::Store;

/// Everything this function works with.
pub struct Leads<V> {
    /// The tables.
    pub store: Store,
    /// Tells people from machines.
    pub captcha: V,
    /// How long after it was accepted a lead whose message was lost is taken up by the sweeper.
    pub first_due: Duration,
    /// How long a request may take: less than the function's time-out (template.yaml), behind which the gateway could
    /// only say that something failed.
    pub longest: Duration,
    /// What became of leads is counted here.
    pub metrics: Metrics,
}

/// What [`Leads::longest`] is where nothing else is said.
pub const LONGEST: Duration = Duration::from_secs(9);
