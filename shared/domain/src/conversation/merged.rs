//! A conversation whose customer became part of another contact.

use crate::conversation::Conversation;
use crate::conversation::participant::{ContactRef, External};
use crate::ids::ContactId;
use crate::time::Timestamp;

impl Conversation {
    /// The conversation with `survivor` in the place of `merged`. If both take part, one of them goes, and the other one has
    /// taken part since the first of both joined. `None` if `merged` does not take part.
    pub fn with_survivor(&self, survivor: ContactId, merged: ContactId, now: Timestamp) -> Option<Self> {
        let mut next = self.clone();
        let left = next.externals.iter().position(|external| external.contact == merged)?;
        let is_there = |external: &&mut External| external.contact == survivor;
        let joined_at = next.externals[left].joined_at;
        match next.externals.iter_mut().find(is_there) {
            Some(there) => {
                there.joined_at = there.joined_at.min(joined_at);
                next.externals.remove(left);
            }
            None => {
                let external = &mut next.externals[left];
                external.contact = survivor;
                if let ContactRef::Id(_) = external.shown {
                    external.shown = ContactRef::Id(survivor);
                }
            }
        }
        Some(next.next_of(self, now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::ids::{BrandId, ChannelId, ConversationId, WorkspaceId};
    use crate::text::Cellphone;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn id(n: u128) -> ContactId {
        ContactId::from_uuid(Uuid::from_u128(n))
    }

    /// A customer who joined so many seconds later.
    fn external(n: u128, joined: u64) -> External {
        External {
            contact: id(n),
            shown: ContactRef::Id(id(n)),
            channel: ChannelId::parse("1045551234567").unwrap(),
            brand: BrandId::parse("brand").unwrap(),
            joined_at: NOW.plus(Duration::from_secs(joined)),
            last_seen_at: None,
        }
    }

    fn with(externals: Vec<External>) -> Conversation {
        let blank = Conversation::blank(
            ConversationId::from_uuid(Uuid::from_u128(7)),
            WorkspaceId::from_uuid(Uuid::nil()),
            NOW,
        );
        Conversation { externals, ..blank }
    }

    #[test]
    fn the_survivor_takes_the_place_of_the_merged_customer() {
        let shown = |n| External {
            shown: ContactRef::Cellphone(Cellphone::parse("+34600111222").unwrap()),
            ..external(n, 5)
        };
        for (before, after) in [
            (vec![external(3, 0), external(2, 5)], Some(vec![external(3, 0), external(1, 5)])),
            // The identifier that the caller used stays.
            (vec![shown(2)], Some(vec![shown(1)])),
            // Both take part.
            (vec![external(1, 9), external(2, 5)], Some(vec![external(1, 5)])),
            (vec![external(2, 9), external(1, 5)], Some(vec![external(1, 5)])),
            (vec![external(1, 9), external(3, 5)], None),
        ] {
            let found = with(before).with_survivor(id(1), id(2), NOW);
            assert_eq!(found.as_ref().map(|next| &next.externals), after.as_ref());
            assert!(found.is_none_or(|next| next.version == 2 && next.updated_at > NOW));
        }
    }
}
