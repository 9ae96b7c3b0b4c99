//! Where an operator types commands.

use std::sync::Arc;

use console::{Beside, Console, Graph, KnownStack};
use domain::TrustedReceivers;
use domain::secret::Randomness;
use store::Store;

use crate::random::Random;

/// An operator's machine.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) store: Store,
    pub(crate) stack: KnownStack,
    pub(crate) random: Arc<Random>,
}

impl Desk {
    pub(crate) fn console(&self) -> Console {
        Console {
            store: self.store.clone(),
            beside: Beside::Known(Box::new(self.stack.clone())),
            random: Arc::new(Entropy(self.random.clone())),
            trusted: TrustedReceivers::none(),
            graph: Graph::default(),
        }
    }
}

/// The randomness of keys and secrets.
#[derive(Clone)]
pub(crate) struct Entropy(pub(crate) Arc<Random>);

impl Randomness for Entropy {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.next().to_le_bytes()[0];
        }
    }
}
