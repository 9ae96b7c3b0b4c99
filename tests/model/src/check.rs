//! Running the checker.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Display};
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

/// A step that can be shown without the state it leads to.
pub trait Shown {
    /// The step, in short.
    fn shown(&self) -> String;
}

/// What a run of the checker saw.
#[derive(Debug)]
pub struct Checked {
    /// How many different states it visited.
    pub states: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// Properties that do not hold, each with the shortest way to a state that shows it.
    pub broken: BTreeMap<&'static str, Vec<String>>,
    /// What was possible, of that which may be.
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

/// Visits all states, or all up to the first that breaks a property.
pub fn check<M>(model: M) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Shown + Debug + Clone + PartialEq + Send + Sync,
{
    run(model, HasDiscoveries::AnyFailures)
}

/// Visits all states, or all up to the first that breaks this property, whatever else is broken.
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

/// A place on a way: a state's key, the step that led there, and the steps to take yet.
type Place<M> = (u64, String, Vec<(<M as Model>::Action, <M as Model>::State)>);

/// A way that leads back to where it was, if there is one: something that may go on for ever with no new fault and no
/// new work. The checker takes a cycle for a join, so this search is its own.
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
    // Whether a state that was seen is still on the way.
    let mut on_way: HashMap<u64, bool> = HashMap::new();
    let mut way: Vec<Place<M>> = vec![];
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
