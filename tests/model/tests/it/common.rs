//! Checks that the tests of all kinds of lanes share.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

use model::check::{Checked, Shown, check, check_for, cycle};
use stateright::Model;

/// Asserts that all properties hold within these bounds, that no history is endless, and that the bounds reach the
/// given states.
pub(crate) fn holds<M>(name: &str, model: &M, reaches: &[&str])
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Shown + Debug + Clone + PartialEq + Send + Sync,
{
    let begun = Instant::now();
    let checked = check(model.clone());
    println!("{name}: {checked}, {:.1?}", begun.elapsed());
    assert!(checked.broken.is_empty(), "{checked}");
    for what in reaches {
        assert!(checked.reached.contains(what), "{name} never reaches: {what}");
    }
    let round = cycle(model);
    assert!(round.is_none(), "endless history: {round:?}");
}

/// Asserts that this property does not hold.
pub(crate) fn breaks<M>(name: &str, model: M, property: &'static str) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Shown + Debug + Clone + PartialEq + Send + Sync,
{
    let checked = check_for(model, property);
    println!("{name}: {checked}");
    assert!(checked.broken.contains_key(property), "expected a violation of: {property}. {checked}");
    checked
}
