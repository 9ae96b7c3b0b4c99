//! How often what is measured is done.

/// The number of processes started to measure the start.
pub(crate) const STARTS: usize = 21;
/// The number of those processes that also answer a first request.
pub(crate) const FIRSTS: usize = 7;
/// The number of requests before the measured ones, and of the measured ones.
pub(crate) const WARM: usize = 20;
pub(crate) const MEASURED: usize = 200;
/// The numbers of requests under valgrind. The difference of the two runs is counted.
pub(crate) const FEW: usize = 3;
pub(crate) const MORE: usize = 23;

/// The number of events that a case needs.
pub(crate) const EVENTS: usize = FIRSTS + 2 * (WARM + MEASURED) + FEW + MORE;
