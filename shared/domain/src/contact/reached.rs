//! A contact and the ids by which the provider names its customer.

use crate::contact::Contact;
use crate::contact::address::{Address, Reached, UserIds, WaId};
use crate::ids::BusinessAccountId;
use crate::phone::PhoneKey;
use crate::text::Cellphone;
use crate::time::Timestamp;

/// A customer's move to another number or user id, as the provider tells it.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The ids before, as far as the provider names them.
    pub from: &'a Reached,
    /// The ids from now on.
    pub to: &'a Reached,
    /// The account that the user ids are for.
    pub account: &'a BusinessAccountId,
    /// When the customer moved, as the provider dates it.
    pub at: Timestamp,
}

impl Contact {
    /// Where messages to the contact are sent from a line of this account: to its number, otherwise to its user id for the
    /// account, otherwise to the one that was learnt last.
    pub fn address(&self, account: &BusinessAccountId) -> Option<Address> {
        let last = || self.user_ids.iter().last().map(|(_, id)| id);
        let user = || self.user_ids.of(account).or_else(last).cloned().map(Address::User);
        self.cellphone.clone().map(Address::Number).or_else(user)
    }

    /// The keys of the contact's numbers: the one that is shown, and the one under which the provider knows it.
    pub fn phone_keys(&self) -> impl Iterator<Item = PhoneKey> {
        let shown = self.cellphone.as_ref().map(Cellphone::key);
        shown.into_iter().chain(self.wa_id.as_ref().map(WaId::key))
    }

    /// Whether one of these ids is the contact's: its number in any written form, the number under which the provider
    /// knows it, or one of its user ids. So the contact is the one that a look-up by these ids finds, unless another contact
    /// has an id that counts more.
    pub fn is_reached_at(&self, at: &Reached) -> bool {
        at.wa_id.as_ref().is_some_and(|wa_id| self.phone_keys().any(|key| key == wa_id.key()))
            || at.user_id.as_ref().is_some_and(|id| self.user_ids.has(id))
    }

    /// The contact after its customer moved to another number, another user id, or both. Returns `None` if that changes
    /// nothing: the contact has the ids, or moved at that time or later. A new number is a new version. A new user id
    /// alone is not.
    ///
    /// The provider gives a customer a new user id with each new number, so the ids of the old number go.
    pub fn moved(&self, Move { from, to, account, at }: Move<'_>, now: Timestamp) -> Option<Self> {
        let number = to.cellphone();
        let key = self.cellphone.as_ref().map(Cellphone::key);
        let is_new = number.as_ref().is_some_and(|number| Some(number.key()) != key);
        let user_ids = match (is_new, &to.user_id) {
            (true, Some(id)) => UserIds::one(account.clone(), id.clone()),
            (true, None) => UserIds::default(),
            (false, Some(id)) => self.user_ids.replaced(from.user_id.as_ref(), account, id),
            (false, None) => self.user_ids.clone(),
        };
        // The number that the customer left may be somebody else's soon.
        let is_left = |wa_id: &WaId| {
            number.is_some() && from.wa_id.as_ref().is_some_and(|left| left.key() == wa_id.key())
        };
        let wa_id = self.wa_id.clone().filter(|wa_id| !is_left(wa_id));
        let is_late = self.moved_at.is_some_and(|before| before >= at);
        if is_late || (!is_new && (&user_ids, &wa_id) == (&self.user_ids, &self.wa_id)) {
            return None;
        }
        let moved = Self { user_ids, wa_id, moved_at: Some(at), ..self.clone() };
        if !is_new {
            return Some(moved);
        }
        let moved = Self {
            cellphone: number,
            wa_id: None,
            updated_at: self.updated_at.next_change(now),
            version: self.version + 1,
            ..moved
        };
        Some(moved.with_time_of_number(self, now))
    }

    /// Since when the contact has its number. A number under which the provider knows it is the same phone, so it has the
    /// same time.
    pub fn has_number_since(&self) -> Timestamp {
        self.number_since.unwrap_or(self.created_at)
    }

    /// The contact with the time since when it has its number. `before` is the contact before the change, which is made
    /// `now`. The time goes on as long as one of the keys stays.
    #[must_use]
    pub fn with_time_of_number(self, before: &Self, now: Timestamp) -> Self {
        let is_kept = self.phone_keys().any(|key| before.phone_keys().any(|of| of == key));
        let has_number = self.phone_keys().next().is_some();
        let number_since = match (has_number, is_kept) {
            (false, _) => None,
            (true, true) => before.number_since,
            (true, false) => Some(now),
        };
        Self { number_since, ..self }
    }

    /// The contact without the ids that belong to another number than the one that it has now. `before` is
    /// the contact before the change.
    pub(super) fn without_ids_of_number(self, before: &Self) -> Self {
        let [old, new] = [before, &self].map(|contact| contact.cellphone.as_ref().map(Cellphone::key));
        if old.is_some() && old != new {
            return Self { wa_id: None, user_ids: UserIds::default(), ..self };
        }
        let wa_id = self.wa_id.filter(|wa_id| Some(wa_id.key()) != new);
        Self { wa_id, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::contact::address::ProviderUserId;
    use crate::ids::{ContactId, WorkspaceId};

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const LATER: Timestamp = Timestamp::from_millis(1_767_323_046_000);

    fn contact(number: &str, wa_id: &str, user: &str) -> Contact {
        let blank =
            Contact::blank(ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()), NOW);
        Contact {
            cellphone: Cellphone::parse(number).ok(),
            wa_id: WaId::parse(wa_id).ok(),
            user_ids: ProviderUserId::parse(user).map(|id| UserIds::one(account(), id)).unwrap_or_default(),
            ..blank
        }
    }

    fn account() -> BusinessAccountId {
        BusinessAccountId::parse("1").unwrap()
    }

    fn at(wa_id: &str, user: &str) -> Reached {
        Reached::named(Some(wa_id), Some(user))
    }

    /// Number, wa id and user id; empty if absent.
    fn ids(contact: &Contact) -> [&str; 3] {
        [
            contact.cellphone.as_ref().map_or("", Cellphone::as_str),
            contact.wa_id.as_ref().map_or("", WaId::as_str),
            contact.user_ids.of(&account()).map_or("", ProviderUserId::as_str),
        ]
    }

    #[test]
    fn a_message_goes_to_the_number_otherwise_to_the_user_id() {
        let rows = [("+14155550123", "US.1", "number"), ("", "US.1", "user"), ("", "", "none")];
        for (number, user, expected) in rows {
            let contact = contact(number, "", user);
            let kind = match contact.address(&account()) {
                Some(Address::Number(of)) if of.as_str() == number => "number",
                Some(Address::User(of)) if of.as_str() == user => "user",
                None => "none",
                other => panic!("{other:?}"),
            };
            assert_eq!(kind, expected);
        }
    }

    #[test]
    fn a_contact_is_reached_at_each_form_of_its_number_its_wa_id_and_its_user_id() {
        let brazilian = contact("+5511987654321", "551150000000", "BR.1");
        let rows = [
            (&brazilian, at("5511987654321", ""), true),
            (&brazilian, at("551187654321", ""), true),
            (&brazilian, at("551150000000", ""), true),
            (&brazilian, at("", "BR.1"), true),
            (&brazilian, at("14155550123", "BR.1"), true),
            (&brazilian, at("5511987654321", "BR.2"), true),
            (&brazilian, at("14155550123", "BR.2"), false),
            (&brazilian, at("", ""), false),
            (&contact("", "", ""), at("", ""), false),
            (&contact("", "", ""), at("14155550123", "BR.1"), false),
        ];
        for (contact, at, expected) in rows {
            assert_eq!(contact.is_reached_at(&at), expected, "{:?} {:?}", ids(contact), at.cellphone());
        }
    }

    fn moved(of: &Contact, to: &Reached, at: Timestamp, now: Timestamp) -> Option<Contact> {
        let from = Reached::named(Some("14155550000"), None);
        of.moved(Move { from: &from, to, account: &account(), at }, now)
    }

    #[test]
    fn a_move_changes_the_number_once_and_an_older_one_changes_nothing() {
        let (old, new) = ("+14155550123", "+14155550199");
        let before = Contact { wa_id: WaId::parse("14155550000").ok(), ..contact(old, "", "US.1") };
        let first = moved(&before, &at("14155550199", "US.2"), NOW, NOW).unwrap();
        assert_eq!((ids(&first), first.version, first.moved_at), ([new, "", "US.2"], 2, Some(NOW)));
        assert!(first.updated_at > before.updated_at);
        // The provider did not name the new user id. The old one was the old number's.
        assert_eq!(ids(&moved(&before, &at("14155550199", ""), NOW, NOW).unwrap()), [new, "", ""]);
        // A new user id alone.
        let named = moved(&first, &at("", "US.3"), LATER, LATER).unwrap();
        assert_eq!((ids(&named), named.version, named.moved_at), ([new, "", "US.3"], 2, Some(LATER)));
        assert_eq!(named.updated_at, first.updated_at);
        // Repeats, older changes, and what the contact has already.
        for (contact, to, time) in [
            (&first, at("14155550199", "US.2"), NOW),
            (&first, at("14155550123", "US.1"), NOW),
            (&named, at("14155550123", ""), NOW),
            (&first, at("14155550199", ""), LATER),
            (&first, at("", ""), LATER),
            (&first, at("12345", ""), LATER), // not a number
            (&contact("+5511987654321", "", ""), at("551187654321", ""), LATER), // another form of its number
            (&contact(new, "14155550777", ""), at("14155550199", ""), LATER), // what it is known by is not what it left
        ] {
            assert_eq!(moved(contact, &to, time, LATER), None, "{to:?}");
        }
        // A number that was left does not stay as the one under which the provider knows the contact.
        let merged = contact(new, "14155550000", "");
        assert_eq!(ids(&moved(&merged, &at("14155550199", ""), LATER, LATER).unwrap()), [new, "", ""]);
        assert_eq!(
            ids(&moved(&named, &at("14155550123", ""), LATER.plus(Duration::from_secs(1)), LATER).unwrap())
                [0],
            old
        );
    }

    #[test]
    fn a_number_has_a_time_that_goes_on_while_one_of_its_keys_stays() {
        let known = Contact { number_since: Some(NOW), ..contact("+5511987654321", "551150000000", "") };
        let of = |number: &str, wa_id: &str| Contact { number_since: None, ..contact(number, wa_id, "") };
        for (before, after, expected) in [
            (&known, of("+5511987654321", ""), Some(NOW)),
            (&known, of("+551187654321", "551150000000"), Some(NOW)),
            (&known, of("", "551150000000"), Some(NOW)),
            (&known, of("+14155550123", ""), Some(LATER)),
            (&known, of("", ""), None),
            (&of("", ""), of("+14155550123", ""), Some(LATER)),
            // Since it was created.
            (&of("+14155550123", ""), of("+14155550123", "14155550199"), None),
        ] {
            let since = after.clone().with_time_of_number(before, LATER).number_since;
            assert_eq!(since, expected, "{:?}", ids(&after));
        }
    }

    #[test]
    fn a_changed_number_takes_its_ids_with_it() {
        let before = contact("+5511987654321", "551150000000", "BR.1");
        let rows = [
            (before.clone(), "+5511987654321", ["+5511987654321", "551150000000", "BR.1"]),
            (before.clone(), "+551187654321", ["+551187654321", "551150000000", "BR.1"]),
            (before.clone(), "+14155550123", ["+14155550123", "", ""]),
            (before, "", ["", "", ""]),
            // The number of a contact that had none: its user id is still the same person's.
            (contact("", "551187654321", "BR.1"), "+14155550123", ["+14155550123", "551187654321", "BR.1"]),
            (contact("", "551187654321", "BR.1"), "+5511987654321", ["+5511987654321", "", "BR.1"]),
        ];
        for (before, number, expected) in rows {
            let after = Contact { cellphone: Cellphone::parse(number).ok(), ..before.clone() };
            assert_eq!(ids(&after.without_ids_of_number(&before)), expected, "{number}");
        }
    }
}
