//! The contact that two contacts of one person become.

use crate::contact::Contact;
use crate::contact::address::WaId;
use crate::ids::{ContactId, PersonJobId};
use crate::text::Cellphone;
use crate::time::Timestamp;

impl Contact {
    /// The greatest number of merged contacts for which a contact stands.
    pub const MAX_MERGED: usize = 5;

    /// The contact after `merged` became part of it: it takes what it has blank, and keeps what it has. A name is one unit.
    /// The number of the merged contact becomes the number under which the provider knows the contact, unless it has one
    /// already. `None` if the contact would be too large, or would stand for more than [`Contact::MAX_MERGED`] others. Both
    /// contacts together fit into an event.
    pub fn joined(&self, merged: &Self, by: PersonJobId, now: Timestamp) -> Option<Self> {
        let is_nameless = self.first_name.is_none() && self.last_name.is_none();
        let named = if is_nameless { merged } else { self };
        let mut attributes = merged.attributes.clone();
        attributes.extend(self.attributes.clone());
        let stands_for: Vec<ContactId> =
            self.merged.iter().chain([&merged.id]).chain(&merged.merged).copied().collect();
        let cellphone = self.cellphone.clone().or_else(|| merged.cellphone.clone());
        let joined = Self {
            first_name: named.first_name.clone(),
            last_name: named.last_name.clone(),
            email: self.email.clone().or_else(|| merged.email.clone()),
            external_id: self.external_id.clone().or_else(|| merged.external_id.clone()),
            wa_id: self.known_as(merged, cellphone.as_ref()),
            cellphone,
            user_ids: self.user_ids.filled(&merged.user_ids),
            moved_at: self.moved_at.max(merged.moved_at),
            language: self.language.or(merged.language),
            owner: self.owner.clone().or_else(|| merged.owner.clone()),
            attributes,
            merging: Some(by),
            merged: stands_for,
            updated_at: self.updated_at.next_change(now),
            version: self.version + 1,
            ..self.clone()
        }
        .with_time_of_number(self, now);
        let fits =
            joined.merged.len() <= Self::MAX_MERGED && joined.bytes() + merged.bytes() <= Self::MAX_BYTES;
        fits.then_some(joined)
    }

    /// The number under which the provider knows the joined contact, which has `cellphone`.
    fn known_as(&self, merged: &Self, cellphone: Option<&Cellphone>) -> Option<WaId> {
        let shown = cellphone.map(Cellphone::key);
        let of_merged = merged.cellphone.as_ref().and_then(|number| WaId::parse(number.digits()).ok());
        let known = [self.wa_id.clone(), of_merged, merged.wa_id.clone()].into_iter().flatten();
        known.into_iter().find(|wa_id| Some(wa_id.key()) != shown)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::contact::address::{ProviderUserId, UserIds};
    use crate::contact::{AttributeContent, OpenContent};
    use crate::ids::{AttributeId, BusinessAccountId, WorkspaceId};
    use crate::phone::PhoneKey;
    use crate::text::{Email, ExternalId, Language, PersonName};

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn job() -> PersonJobId {
        PersonJobId::from_uuid(Uuid::from_u128(99))
    }

    fn user_id(account: u8, n: u8) -> (BusinessAccountId, ProviderUserId) {
        let id = ProviderUserId::parse(&format!("ES.{n}.{account}")).unwrap();
        (BusinessAccountId::parse(&account.to_string()).unwrap(), id)
    }

    /// A contact with any of its fields. Numbers and ids are those of `n` alone.
    fn contact(n: u8) -> impl Strategy<Value = Contact> {
        let attributes = prop::collection::btree_map(0_u128..4, "[a-z]{1,5}", 0..4);
        let has = prop::collection::vec(any::<bool>(), 8);
        let ids = prop::collection::btree_set(0_u8..5, 0..=UserIds::MAX);
        (has, attributes, 0_u64..4, ids).prop_map(move |(has, attributes, moved, ids)| {
            let id = ContactId::from_uuid(Uuid::from_u128(u128::from(n)));
            let of = |at: usize, text: String| has[at].then_some(text);
            let content = |text: &String| AttributeContent::Open(OpenContent::parse(text).unwrap());
            let attributes = attributes
                .iter()
                .map(|(id, text)| (AttributeId::from_uuid(Uuid::from_u128(*id)), content(text)));
            Contact {
                first_name: of(0, format!("First{n}")).and_then(|text| PersonName::parse(&text).ok()),
                last_name: of(1, format!("Last{n}")).and_then(|text| PersonName::parse(&text).ok()),
                email: of(2, format!("a{n}@example.com")).and_then(|text| Email::parse(&text).ok()),
                cellphone: of(3, format!("+3460011122{n}")).and_then(|text| Cellphone::parse(&text).ok()),
                external_id: of(7, format!("crm-{n}")).and_then(|text| ExternalId::parse(&text).ok()),
                wa_id: of(4, format!("3460011133{n}")).and_then(|text| WaId::parse(&text).ok()),
                user_ids: ids.iter().map(|account| user_id(*account, n)).collect(),
                language: of(6, "es".to_owned()).and_then(|text| Language::parse(&text).ok()),
                moved_at: (moved > 0).then(|| Timestamp::from_millis(i64::try_from(moved).unwrap())),
                attributes: attributes.collect(),
                ..Contact::blank(id, WorkspaceId::from_uuid(Uuid::nil()), NOW)
            }
        })
    }

    fn numbers(of: &Contact) -> BTreeSet<PhoneKey> {
        of.phone_keys().collect()
    }

    proptest! {
        #[test]
        fn a_merge_fills_blanks_and_loses_no_id(stays in contact(1), goes in contact(2)) {
            let joined = stays.joined(&goes, job(), NOW).unwrap();
            // What the contact has stays, and what it lacks comes from the other one.
            prop_assert_eq!(&joined.email, &stays.email.clone().or(goes.email.clone()));
            prop_assert_eq!(&joined.external_id, &stays.external_id.clone().or(goes.external_id.clone()));
            prop_assert_eq!(&joined.language, &stays.language.or(goes.language));
            let names = |of: &Contact| (of.first_name.clone(), of.last_name.clone());
            let named = if names(&stays) == (None, None) { &goes } else { &stays };
            prop_assert_eq!(names(&joined), names(named));
            for (id, content) in &joined.attributes {
                prop_assert_eq!(Some(content), stays.attributes.get(id).or(goes.attributes.get(id)));
            }
            prop_assert!(stays.attributes.keys().chain(goes.attributes.keys()).all(|id| joined.attributes.contains_key(id)));
            // Every number stays unless there is no place for it, and no number is new. The place of the number that is shown is
            // only for one that was shown.
            let places = if joined.cellphone.is_some() { 2 } else { 1 };
            let (kept, all) = (numbers(&joined), &numbers(&stays) | &numbers(&goes));
            prop_assert!(numbers(&stays).is_subset(&kept) && kept.is_subset(&all));
            prop_assert_eq!(kept.len(), all.len().min(places));
            // Every account keeps an id as long as there is a place for it.
            prop_assert!(stays.user_ids.iter().all(|(account, id)| joined.user_ids.of(account) == Some(id)));
            let of = |account| stays.user_ids.of(account).or(goes.user_ids.of(account));
            prop_assert!(joined.user_ids.iter().all(|(account, id)| of(account) == Some(id)));
            let accounts: BTreeSet<_> =
                stays.user_ids.iter().chain(goes.user_ids.iter()).map(|(account, _)| account).collect();
            prop_assert_eq!(joined.user_ids.iter().count(), accounts.len().min(UserIds::MAX));
            prop_assert_eq!(joined.moved_at, stays.moved_at.max(goes.moved_at));
            prop_assert_eq!((joined.id, joined.version), (stays.id, stays.version + 1));
            prop_assert!(joined.updated_at > stays.updated_at);
            prop_assert_eq!((joined.merged, joined.merging), (vec![goes.id], Some(job())));
        }
    }

    #[test]
    fn contacts_that_do_not_fit_into_an_event_together_are_not_joined() {
        let with = |n: u8, attributes: usize| {
            let content = AttributeContent::Open(OpenContent::parse(&"x".repeat(1_024)).unwrap());
            let ids = (0..attributes).map(|at| Uuid::from_u128(u128::from(n) * 1_000 + at as u128));
            Contact {
                attributes: ids.map(|id| (AttributeId::from_uuid(id), content.clone())).collect(),
                ..Contact::blank(
                    ContactId::from_uuid(Uuid::from_u128(u128::from(n))),
                    WorkspaceId::from_uuid(Uuid::nil()),
                    NOW,
                )
            }
        };
        assert!(with(1, 40).joined(&with(2, 40), job(), NOW).is_some());
        assert!(with(1, 60).joined(&with(2, 60), job(), NOW).is_none());
    }

    #[test]
    fn a_contact_stands_for_those_that_became_part_of_it_at_most_five() {
        let blank = |n: u128, merged: &[u128]| Contact {
            merged: merged.iter().map(|n| ContactId::from_uuid(Uuid::from_u128(*n))).collect(),
            ..Contact::blank(
                ContactId::from_uuid(Uuid::from_u128(n)),
                WorkspaceId::from_uuid(Uuid::nil()),
                NOW,
            )
        };
        let joined = blank(1, &[11, 12]).joined(&blank(2, &[21, 22]), job(), NOW).unwrap();
        assert_eq!(joined, Contact { merged: blank(1, &[11, 12, 2, 21, 22]).merged, ..joined.clone() });
        assert_eq!(blank(1, &[11, 12]).joined(&blank(2, &[21, 22, 23]), job(), NOW), None);
    }
}
