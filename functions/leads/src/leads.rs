//! The dependencies of the function.

use std::time::Duration;

use runtime::Metrics;
use store::Store;

use crate::quotas::Quotas;

/// The dependencies of this function.
pub struct Leads<V> {
    /// The tables.
    pub store: Store,
    /// The quotas of requests of the workspaces.
    pub quotas: Quotas,
    /// Checks captcha tokens.
    pub captcha: V,
    /// How long after its acceptance the sweeper queues a lead whose message was lost.
    pub first_due: Duration,
    /// The time limit of a request. It is below the function's time-out (template.yaml): after that time-out, the
    /// gateway could only return an unspecific error.
    pub longest: Duration,
    /// Counts the outcomes of leads.
    pub metrics: Metrics,
}

/// The default of [`Leads::longest`].
pub const LONGEST: Duration = Duration::from_secs(9);
