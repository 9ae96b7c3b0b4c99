//! The randomness of a world: everything that happens in it follows from its seed.

use std::sync::Mutex;

use domain::Ids;
use uuid::Uuid;

/// A small generator (SplitMix64). Clones of a world share one, so every draw has its place in one order.
#[derive(Debug)]
pub(crate) struct Random(Mutex<u64>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(0x9E37_79B9)))
    }

    pub(crate) fn next(&self) -> u64 {
        let mut state = self.0.lock().expect("no draw panics");
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 up to and without `end`, which is not 0.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from `least` to `most`.
    pub(crate) fn within(&self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True in so many of a thousand cases.
    pub(crate) fn happens(&self, in_a_thousand: u64) -> bool {
        in_a_thousand > 0 && self.below(1_000) < in_a_thousand
    }

    /// One of them.
    pub(crate) fn one_of<'a, T>(&self, all: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(all.len() as u64)).expect("a place in a list");
        &all[at]
    }
}

/// Ids that look random, from a generator of their own.
#[derive(Debug)]
pub(crate) struct RandomIds(pub(crate) Random);

impl Ids for RandomIds {
    fn next(&self) -> Uuid {
        uuid::Builder::from_random_bytes(
            ((u128::from(self.0.next()) << 64) | u128::from(self.0.next())).to_be_bytes(),
        )
        .into_uuid()
    }
}
