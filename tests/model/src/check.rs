//! Runs the model checker.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Display};
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

/// A step that can be printed without the state it leads to.
pub trait Shown {
    /// The step as a short text.
    fn shown(&self) -> String;
}

/// The result of a run of the checker.
#[derive(Debug)]
pub struct Checked {
    /// The number of different states that the checker visited.
    pub states: usize,
    /// The greatest distance of a state from the start, by its shortest path.
    pub depth: usize,
    /// Properties that do not hold, each with the shortest path to a state that violates it.
    pub broken: BTreeMap<&'static str, Vec<String>>,
    /// The names of the `sometimes` properties that the checker found an example of.
    pub reached: Vec<&'static str>,
}

impl Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} states, {} deep", self.states, self.depth)?;
        for (property, way) in &self.broken {
            write!(f, "\n  broken: {property}\n    {}", way.join("\n    "))?;
        }
        Ok(())
    }
}

/// Visits all states, or stops at the first state that violates a property.
pub fn check<M>(model: M) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Shown + Debug + Clone + PartialEq + Send + Sync,
{
    run(model, HasDiscoveries::AnyFailures)
}

/// Visits all states, or stops at the first state that violates the given property, regardless of others.
pub fn check_for<M>(model: M, property: &'static str) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Shown + Debug + Clone + PartialEq + Send + Sync,
{
    let mut checked = run(model, HasDiscoveries::AnyOf([property].into()));
    checked.broken.retain(|broken, _| *broken == property);
    checked
}

fn run<M>(model: M, until: HasDiscoveries) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Shown + Debug + Clone + PartialEq + Send + Sync,
{
    let properties = model.properties();
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    let mut discoveries = checker.discoveries();
    let mut checked = Checked {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        broken: BTreeMap::new(),
        reached: vec![],
    };
    for property in properties {
        match (property.expectation, discoveries.remove(property.name)) {
            (Expectation::Always | Expectation::Eventually, Some(path)) => {
                let way = path.into_actions().iter().map(Shown::shown).collect();
                checked.broken.insert(property.name, way);
            }
            (Expectation::Sometimes, Some(_)) => checked.reached.push(property.name),
            _ => {}
        }
    }
    checked
}

/// A state on the current path: its key, the step that led to it, and the steps to try.
type OnPath<M> = (u64, String, Vec<(<M as Model>::Action, <M as Model>::State)>);

/// Returns a path that leads back to its start, if one exists: a history that may go on for ever without a new fault or
/// new work. The checker does not distinguish a cycle from two paths to the same state, so this function searches by
/// itself.
pub fn cycle<M>(model: &M) -> Option<Vec<String>>
where
    M: Model,
    M::State: Hash,
    M::Action: Shown + Clone,
{
    let key = |state: &M::State| {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    };
    // By key of a visited state: whether it is still on the path.
    let mut on_way: HashMap<u64, bool> = HashMap::new();
    let mut way: Vec<OnPath<M>> = vec![];
    for state in model.init_states() {
        on_way.insert(key(&state), true);
        way.push((key(&state), String::new(), model.next_steps(&state)));
        while let Some((from, _, steps)) = way.last_mut() {
            let Some((action, to)) = steps.pop() else {
                on_way.insert(*from, false);
                way.pop();
                continue;
            };
            let to_key = key(&to);
            match on_way.get(&to_key) {
                Some(false) => {}
                Some(true) => {
                    let round = way.iter().skip_while(|(at, ..)| *at != to_key).skip(1);
                    let steps = round.map(|(_, step, _)| step.clone());
                    return Some(steps.chain([action.shown()]).collect());
                }
                None if !model.within_boundary(&to) => {}
                None => {
                    on_way.insert(to_key, true);
                    way.push((to_key, action.shown(), model.next_steps(&to)));
                }
            }
        }
    }
    None
}
