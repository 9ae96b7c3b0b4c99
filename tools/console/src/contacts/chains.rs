//! The rows of a file that must be imported one after another, because they may concern the same contact.

use std::collections::HashMap;
use std::hash::Hash;

/// Groups rows into chains. Two rows are in one chain, in the order of the file, if they share a key directly or
/// through other rows. Different chains share no key, so they can be imported at the same time.
pub(super) fn chains<R, K: Hash + Eq>(rows: Vec<R>, keys: impl Fn(&R) -> Vec<K>) -> Vec<Vec<R>> {
    let mut joined = Joined((0..rows.len()).collect());
    let mut first_with: HashMap<K, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        for key in keys(row) {
            let first = *first_with.entry(key).or_insert(at);
            joined.join(first, at);
        }
    }
    let mut chains: Vec<Vec<R>> = vec![];
    let mut chain_of: HashMap<usize, usize> = HashMap::new();
    for (at, row) in rows.into_iter().enumerate() {
        let chain = *chain_of.entry(joined.root(at)).or_insert_with(|| {
            chains.push(vec![]);
            chains.len() - 1
        });
        chains[chain].push(row);
    }
    chains
}

/// Disjoint sets (union-find). Each element points towards the root of its set.
struct Joined(Vec<usize>);

impl Joined {
    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_share_a_key_directly_or_through_others_form_one_chain_in_order() {
        let rows = vec![vec!["a"], vec!["b"], vec!["c", "d"], vec!["b", "c"], vec!["e"], vec!["d"], vec![]];
        let in_chains = chains(rows, Clone::clone);
        assert_eq!(
            in_chains,
            [
                vec![vec!["a"]],
                vec![vec!["b"], vec!["c", "d"], vec!["b", "c"], vec!["d"]],
                vec![vec!["e"]],
                vec![vec![]],
            ]
        );
    }
}
