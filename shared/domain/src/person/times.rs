//! Which contact had a number when, and so to whom a lead of the number belongs.
//!
//! Numbers change hands: who has one now is not who had it last year. So nothing is the person's only because of the
//! number, but because of the number and the time.

use crate::ids::ContactId;
use crate::lead::Lead;
use crate::text::Cellphone;
use crate::time::Timestamp;

/// A time in which a contact had a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenure {
    /// When the contact got the number.
    pub from: Timestamp,
    /// When it gave the number up; `None` if it has the number now.
    pub to: Option<Timestamp>,
    /// The contact.
    pub contact: ContactId,
}

/// A number of a person, and when the person had it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldNumber {
    /// The number.
    pub number: Cellphone,
    /// The time.
    pub tenure: Tenure,
}

/// The contact to which a lead of a number belongs: the one that it was opened for, otherwise the one that had the
/// number when the lead came. `None` if nobody had it then. `tenures` are those of the number, in any order.
pub fn contact_of(lead: &Lead, tenures: &[Tenure]) -> Option<ContactId> {
    if lead.opened { Some(lead.contact) } else { holder_at(tenures, lead.created_at) }
}

/// The contact that had a number at a time. The time of the first contact that is known to have had the number begins
/// with the number. A time never begins before the one before it ended.
pub fn holder_at(tenures: &[Tenure], at: Timestamp) -> Option<ContactId> {
    let mut in_order = tenures.to_vec();
    // A time that has not ended comes after one that began at the same moment and has.
    in_order.sort_unstable_by_key(|tenure| (tenure.from, tenure.to.is_none(), tenure.to));
    let mut ended = None;
    for (n, Tenure { from, to, contact }) in in_order.iter().enumerate() {
        let from = ended.map(|ended| (*from).max(ended));
        let to = to.or_else(|| in_order.get(n + 1).map(|next| next.from));
        if from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to) {
            return Some(*contact);
        }
        ended = ended.max(to);
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::person::tests::lead;

    fn contact(n: u8) -> ContactId {
        ContactId::from_uuid(Uuid::from_u128(u128::from(n)))
    }

    fn at(moment: i64) -> Timestamp {
        Timestamp::from_millis(moment)
    }

    fn tenure(n: u8, from: i64, to: Option<i64>) -> Tenure {
        Tenure { from: at(from), to: to.map(at), contact: contact(n) }
    }

    #[test]
    fn a_number_belongs_to_the_one_who_had_it_then() {
        let tenures = [tenure(2, 30, None), tenure(1, 10, Some(20))];
        let rows = [
            (0, Some(1)),
            (10, Some(1)),
            (19, Some(1)),
            (20, None),
            (29, None),
            (30, Some(2)),
            (99, Some(2)),
        ];
        for (moment, expected) in rows {
            assert_eq!(holder_at(&tenures, at(moment)), expected.map(contact), "{moment}");
        }
        assert_eq!(holder_at(&[], at(0)), None);
        // A number that another contact took over without a row of the moment at which the first gave it up.
        let taken = [tenure(1, 10, None), tenure(2, 20, None)];
        assert_eq!([19, 20].map(|moment| holder_at(&taken, at(moment))), [1, 2].map(|n| Some(contact(n))));
    }

    proptest! {
        /// Histories of a number: it goes from contact to contact, or is free, and comes back. Each entry is a holder
        /// and how long.
        #[test]
        fn a_lead_belongs_to_at_most_one_contact(
            history in prop::collection::vec((prop::option::of(0_u8..4), 1_i64..5), 0..12),
            early in 0_i64..6,
            moment in -3_i64..60,
            opened in prop::option::of(0_u8..4),
        ) {
            let (mut tenures, mut now, mut truth, mut first) = (vec![], 0, None, None);
            for (n, (holder, lasts)) in history.iter().enumerate() {
                let to = now + lasts;
                if let Some(holder) = holder {
                    let is_last = n + 1 == history.len();
                    // A number that was learnt later has the time of the number that was known before.
                    tenures.push(tenure(*holder, now - early.min(now), (!is_last).then_some(to)));
                    first = first.or(Some((*holder, now)));
                    if (now..to).contains(&moment) || (is_last && moment >= to) {
                        truth = Some(*holder);
                    }
                }
                now = to;
            }
            let before_all = first.filter(|(_, since)| moment < *since);
            let known = truth.or(before_all.map(|(holder, _)| holder));
            // A time that is said to begin earlier than it did reaches into a gap, but into nobody's time.
            let mut lead = lead("+34600111222", 9);
            (lead.opened, lead.created_at) = (opened.is_some(), at(moment));
            if let Some(opened) = opened {
                lead.contact = contact(opened);
            }
            let owner = contact_of(&lead, &tenures);
            match (opened, known) {
                (Some(opened), _) => prop_assert_eq!(owner, Some(contact(opened))),
                (None, Some(known)) => prop_assert_eq!(owner, Some(contact(known))),
                (None, None) => prop_assert!(early > 0 || owner.is_none()),
            }
            // The order in which the times are read does not matter.
            tenures.reverse();
            prop_assert_eq!(contact_of(&lead, &tenures), owner);
        }
    }
}
