//! The keys by which the visits of a lane find deliveries.

use uuid::Uuid;

use crate::ids::EventId;
use crate::time::Timestamp;
use crate::webhook::delivery::Delivery;

/// The place of a delivery's home row: the moment of its event, then the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HomeKey {
    /// When the event happened.
    pub at: Timestamp,
    /// The event's id, which orders rows of the same moment.
    pub event: EventId,
}

impl HomeKey {
    /// The place of a delivery's home row.
    pub fn of(delivery: &Delivery) -> Self {
        Self { at: delivery.created_at, event: delivery.event }
    }

    /// The first place of a moment.
    pub fn of_moment(at: Timestamp) -> Self {
        Self { at, event: EventId::from_uuid(Uuid::nil()) }
    }

    /// The first place after this one.
    pub fn next(self) -> Self {
        let id = self.event.as_uuid().as_u128().saturating_add(1);
        Self { event: EventId::from_uuid(Uuid::from_u128(id)), ..self }
    }

    /// The last place before this one.
    fn previous(self) -> Self {
        let (at, id) = match self.event.as_uuid().as_u128().checked_sub(1) {
            Some(id) => (self.at, id),
            None => (Timestamp::from_millis(self.at.as_millis() - 1), u128::MAX),
        };
        Self { at, event: EventId::from_uuid(Uuid::from_u128(id)) }
    }
}

/// The pointer to a delivery that waits for a later attempt. A lane reads pointers in the order of their moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    /// No attempt is made before this moment.
    pub not_before: Timestamp,
    /// The place of the delivery's home row.
    pub home: HomeKey,
}

impl Pointer {
    /// The last possible pointer before this one.
    pub(super) fn previous(self) -> Self {
        Self { home: self.home.previous(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_place_is_between_a_place_and_its_neighbours(at in 1_i64..100, event in 0_u128..u128::MAX) {
            let place = HomeKey {
                at: Timestamp::from_millis(at),
                event: EventId::from_uuid(Uuid::from_u128(event)),
            };
            prop_assert!(place.previous() < place && place < place.next());
            prop_assert_eq!(place.next().previous(), place);
            prop_assert_eq!(event == 0, place.previous().at < place.at);
        }
    }
}
