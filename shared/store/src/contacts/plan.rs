//! The writes for a change of a contact: the difference between its rows before and after.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::contact::search::{phone_rows, terms};
use domain::refused::IdentityField;
use domain::settings::workspace::list_shard;
use domain::{Contact, PhoneKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::contacts::row::{LIST_PK, LIST_SK, USER_IDS, contact_item, merged_item, user_ids};
use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, n, row, s};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::versions::{diff_write, replace_write};
use crate::dynamodb::write::{Transaction, Write};
use crate::{StoreError, Table, keys};

/// The role of a write in the change of a contact. The write of the contact itself is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Writes the contact itself.
    Entity,
    /// Claims an identity for the contact.
    Claim(IdentityField),
    /// Releases an identity.
    Release,
    /// Adds or removes a search row.
    Search,
    /// Records a number that the contact gave up.
    GivenUp,
    /// Writes a row that belongs to the person, such as an opt-out.
    Other,
}

/// A new contact. `shards` is the number of shards of the list of all contacts.
pub(crate) fn create_writes(
    contact: &Contact,
    shards: u8,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let mut writes = create_writes_without_hints(contact, shards, request_id)?;
    add_search(&mut writes, None, contact)?;
    Ok(writes)
}

/// A new contact without its search rows ([`search_hints`]).
pub(crate) fn create_writes_without_hints(
    contact: &Contact,
    shards: u8,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let shard = list_shard(contact.id.as_uuid(), shards);
    let mut item = contact_item(contact, request_id)?;
    item.insert(LIST_PK.to_owned(), s(keys::contact_list(contact.workspace_id, shard)));
    item.insert(LIST_SK.to_owned(), s(keys::newest_first(contact.created_at, contact.id)));
    let mut writes = Transaction::new();
    writes.add(Role::Entity, Write::put(Table::Contacts, item).when_absent());
    add_identities(&mut writes, None, contact)?;
    Ok(writes)
}

/// The change of the contact from `old` to `new`.
pub(crate) fn replace_writes(
    old: &Contact,
    new: &Contact,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let mut writes = Transaction::new();
    let (before, after) = (contact_item(old, "")?, contact_item(new, request_id)?);
    let write = diff_write(Table::Contacts, &before, &after, old.version);
    // The provider's ids change without a new version. Only a change of the number or the ids depends on them.
    let write = if numbers_of(old) == numbers_of(new) { write } else { when_ids_are_of(write, old)? };
    writes.add(Role::Entity, write);
    add_identities(&mut writes, Some(old), new)?;
    add_given_up(&mut writes, old, new, new.updated_at)?;
    add_search(&mut writes, Some(old), new)?;
    Ok(writes)
}

/// The change of the provider's ids from `old` to `new`. It is not a new version, and other changes of the
/// contact at the same time stay. It is made `now`.
pub(crate) fn reach_writes(
    old: &Contact,
    new: &Contact,
    now: Timestamp,
) -> Result<Transaction<Role>, StoreError> {
    let mut writes = Transaction::new();
    let (pk, sk) = keys::contact(old.workspace_id, old.id);
    let number = old.cellphone.as_ref().map(|number| s(number.as_str()));
    let change = RowUpdate::default()
        .set_or_remove(USER_IDS, user_ids(new)?)
        .set_or_remove("waId", new.wa_id.as_ref().map(|id| s(id.as_str())))
        .set_or_remove("movedAt", new.moved_at.map(|at| s(at.to_string())))
        .set_or_remove("numberSince", new.number_since.map(|at| s(at.to_string())))
        // What is left of a contact that became part of another one has no version.
        .when("attribute_exists(version)");
    let write = when_seen(change.of(Table::Contacts, key((pk, sk))), "cellphone", number);
    writes.add(Role::Entity, when_ids_are_of(write, old)?);
    add_identities(&mut writes, Some(old), new)?;
    add_given_up(&mut writes, old, new, now)?;
    Ok(writes)
}

/// The writes that make `merged` part of `survivor`, which is `next` from now on. Its ids become those of `next`, as far as
/// `next` has them. Each of the two contacts must be as it was read, neither in another merge nor in an erasure.
pub(crate) fn join_writes(
    survivor: &Contact,
    merged: &Contact,
    next: &Contact,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let (workspace, now) = (next.workspace_id, next.updated_at);
    let is_free = |write: Write, seen: &Contact| {
        let free = "attribute_not_exists(merging) AND attribute_not_exists(erasing)";
        Ok::<_, StoreError>(when_ids_are_of(write, seen)?.also_when(free))
    };
    let (before, after) = (contact_item(survivor, "")?, contact_item(next, request_id)?);
    let stays = diff_write(Table::Contacts, &before, &after, survivor.version);
    let tombstone = |of| merged_item((workspace, of), next.id, now);
    let goes = replace_write(Table::Contacts, tombstone(merged.id)?, merged.version);
    let mut writes = Transaction::new()
        .with(Role::Entity, is_free(stays, survivor)?)
        .with(Role::Entity, is_free(goes, merged)?);
    // So what is left of a contact always names one that exists.
    for earlier in &merged.merged {
        writes.add(Role::Other, Write::put(Table::Contacts, tombstone(*earlier)?));
    }
    let had = identities(survivor);
    let after = identities(next);
    let has = |identities: &[Identity], key: &Key<_>| identities.iter().any(|(_, held)| held == key);
    for (field, (pk, sk)) in after.iter().filter(|(_, key)| !has(&had, key)) {
        // The time of the contact with a number begins when the time of the merged contact ends.
        let row = identity_row(next, *field, (pk, sk), now)?;
        let taken = Write::put(Table::Contacts, row).when("contactId = :id");
        writes.add(Role::Claim(*field), taken.bind(":id", s(merged.id.to_string())));
    }
    for (_, (pk, sk)) in identities(merged).iter().filter(|(_, key)| !has(&after, key)) {
        let release = Write::delete(Table::Contacts, key((pk, *sk))).when("contactId = :id");
        writes.add(Role::Release, release.bind(":id", s(merged.id.to_string())));
    }
    add_given_up(&mut writes, merged, &Contact::blank(merged.id, workspace, now), now)?;
    for (pk, sk) in search_rows(merged)?.into_keys() {
        writes.add(Role::Search, Write::delete(Table::Contacts, key((pk, sk))));
    }
    add_search(&mut writes, Some(survivor), next)?;
    Ok(writes)
}

/// The writes that delete the contact with its identity and search rows.
pub(crate) fn erase_writes(contact: &Contact) -> Result<Transaction<Role>, StoreError> {
    let (pk, sk) = keys::contact(contact.workspace_id, contact.id);
    let entity = Write::delete(Table::Contacts, key((pk, sk)))
        .when("version = :seen")
        .bind(":seen", n(contact.version));
    let mut writes = Transaction::new().with(Role::Entity, when_ids_are_of(entity, contact)?);
    for (_, (pk, sk)) in identities(contact) {
        let release = Write::delete(Table::Contacts, key((pk, sk)));
        writes.add(Role::Release, release.when("contactId = :id").bind(":id", s(contact.id.to_string())));
    }
    for (pk, sk) in search_rows(contact)?.into_keys() {
        writes.add(Role::Search, Write::delete(Table::Contacts, key((pk, sk))));
    }
    Ok(writes)
}

fn add_identities(
    writes: &mut Transaction<Role>,
    old: Option<&Contact>,
    new: &Contact,
) -> Result<(), StoreError> {
    let before = old.map(identities).unwrap_or_default();
    let after = identities(new);
    // The number under which the provider knew the contact may have become the number that is shown.
    let has = |identities: &[Identity], key: &Key<_>| identities.iter().any(|(_, held)| held == key);
    for (_, (pk, sk)) in before.iter().filter(|(_, key)| !has(&after, key)) {
        let release = Write::delete(Table::Contacts, key((pk, *sk)));
        let own = release.when("contactId = :id").bind(":id", s(new.id.to_string()));
        writes.add(Role::Release, own);
    }
    for (field, (pk, sk)) in after.iter().filter(|(_, key)| !has(&before, key)) {
        let row = identity_row(new, *field, (pk, sk), new.has_number_since())?;
        writes.add(Role::Claim(*field), Write::put(Table::Contacts, row).when_absent());
    }
    Ok(())
}

/// The row that claims an identity for a contact, which has the number since then if it is one.
fn identity_row(
    of: &Contact,
    field: IdentityField,
    (pk, sk): (&str, &str),
    since: Timestamp,
) -> Result<Item, StoreError> {
    let is_phone = matches!(field, IdentityField::Cellphone | IdentityField::WaId);
    let since = is_phone.then_some(since);
    row((pk, sk), "identity", &IdentityRow { contact_id: of.id.to_string(), since })
}

/// The rows of the numbers that the contact gives up `now`: under the number, for whoever asks who had it, and under the
/// contact, for whoever asks which numbers it had.
fn add_given_up(
    writes: &mut Transaction<Role>,
    old: &Contact,
    new: &Contact,
    now: Timestamp,
) -> Result<(), StoreError> {
    let shown = old.cellphone.iter().map(|number| (number.key(), number.digits()));
    let known = old.wa_id.iter().map(|wa_id| (wa_id.key(), wa_id.as_str()));
    let mut given_up: BTreeMap<PhoneKey, &str> = known.chain(shown).collect();
    given_up.retain(|key, _| new.phone_keys().all(|kept| kept != *key));
    let (workspace, from) = (old.workspace_id, old.has_number_since());
    for (key, digits) in given_up {
        let times = EarlierRow { from, to: now.max(from), digits: None };
        let holder = row(keys::earlier_holder(workspace, &key, old.id, from), "earlierHolder", &times)?;
        let own = EarlierRow { digits: Some(digits.to_owned()), ..times };
        let number = row(keys::earlier_number(workspace, old.id, &key, from), "earlierNumber", &own)?;
        writes.add(Role::GivenUp, Write::put(Table::Contacts, holder));
        writes.add(Role::GivenUp, Write::put(Table::Contacts, number));
    }
    Ok(())
}

fn add_search(
    writes: &mut Transaction<Role>,
    old: Option<&Contact>,
    new: &Contact,
) -> Result<(), StoreError> {
    let before = old.map(search_rows).transpose()?.unwrap_or_default();
    let after = search_rows(new)?;
    for ((pk, sk), _) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
        writes.add(Role::Search, Write::delete(Table::Contacts, key((pk, sk))));
    }
    for (_, row) in after.iter().filter(|(key, row)| before.get(*key) != Some(*row)) {
        writes.add(Role::Search, Write::put(Table::Contacts, row.clone()));
    }
    Ok(())
}

type Key<Sk> = (String, Sk);
type Identity = (IdentityField, Key<&'static str>);

/// The rows that claim the contact's identities.
fn identities(contact: &Contact) -> Vec<Identity> {
    let workspace = contact.workspace_id;
    let email =
        contact.email.iter().map(|email| (IdentityField::Email, keys::contact_email(workspace, email)));
    let external_id = contact
        .external_id
        .iter()
        .map(|id| (IdentityField::ExternalId, keys::contact_external_id(workspace, id)));
    let phone = |key| keys::contact_phone(workspace, &key);
    let cellphone = contact.cellphone.iter().map(|number| (IdentityField::Cellphone, phone(number.key())));
    let user_ids =
        contact.user_ids.ids().map(|id| (IdentityField::UserId, keys::contact_user_id(workspace, id)));
    let wa_id = contact.wa_id.iter().map(|id| (IdentityField::WaId, phone(id.key())));
    email.chain(cellphone).chain(external_id).chain(user_ids).chain(wa_id).collect()
}

/// The check that the contact has the number and the ids that `seen` shows.
pub(crate) fn ids_check(seen: &Contact) -> Result<Write, StoreError> {
    let key = key(keys::contact(seen.workspace_id, seen.id));
    let check = Write::check(Table::Contacts, key, "attribute_exists(version)");
    when_ids_are_of(when_seen(check, "cellphone", seen.cellphone.as_ref().map(|it| s(it.as_str()))), seen)
}

/// The number and the ids by which the provider reaches the contact.
fn numbers_of(contact: &Contact) -> impl PartialEq {
    (contact.cellphone.clone(), contact.user_ids.clone(), contact.wa_id.clone())
}

/// The write of a contact under the condition that its row has the provider's ids that `seen` shows.
fn when_ids_are_of(write: Write, seen: &Contact) -> Result<Write, StoreError> {
    let write = when_seen(write, USER_IDS, user_ids(seen)?);
    Ok(when_seen(write, "waId", seen.wa_id.as_ref().map(|id| s(id.as_str()))))
}

fn when_seen(write: Write, name: &str, seen: Option<AttributeValue>) -> Write {
    match seen {
        Some(value) => {
            let placeholder = format!(":seen_{name}");
            write.also_when(&format!("{name} = {placeholder}")).bind(placeholder, value)
        }
        None => write.also_when(&format!("attribute_not_exists({name})")),
    }
}

/// `W#E#<e-mail>` / `U`, `W#P#<phone key>` / `U`, `W#K#<external id>` / `U` and `W#U#<user id>` / `U`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IdentityRow {
    contact_id: String,
    /// Since when the contact has the number.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

/// `W#P#<phone key>` / `H#<contact>#<from>`, and `W#C#<contact>` / `H#<phone key>#<from>`: a number that a contact had.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct EarlierRow {
    #[serde(with = "fields::text")]
    pub(crate) from: Timestamp,
    #[serde(with = "fields::text")]
    pub(crate) to: Timestamp,
    /// The digits as they were written; only in the row of the contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digits: Option<String>,
}

/// The search rows of a new contact. A search reads the contact itself before it shows it.
pub(crate) fn search_hints(contact: &Contact) -> Result<Vec<Item>, StoreError> {
    Ok(search_rows(contact)?.into_values().collect())
}

/// The contact's search rows.
fn search_rows(contact: &Contact) -> Result<BTreeMap<Key<String>, Item>, StoreError> {
    let (workspace, id) = (contact.workspace_id, contact.id);
    let mut rows = BTreeMap::new();
    let terms = terms(contact);
    let doc: String = terms.iter().flat_map(|term| ["|", term]).collect();
    for term in &terms {
        let (pk, sk) = (keys::contact_terms(workspace, term), keys::search_sort_key(term, id));
        let item = row((&pk, &sk), "term", &TermRow { doc: doc.clone() })?;
        rows.insert((pk, sk), item);
    }
    if let Some(cellphone) = &contact.cellphone {
        for (end, digits) in phone_rows(cellphone.digits()) {
            let pk = keys::contact_digits(workspace, end, &digits);
            let sk = keys::search_sort_key(&digits, id);
            let item = row((&pk, &sk), "phone", &PhoneRow { ph: cellphone.digits().to_owned() })?;
            rows.insert((pk, sk), item);
        }
    }
    Ok(rows)
}

/// `W#T#<first character>` / `<term>#<id>`. It contains all terms of the contact, each after a bar.
#[derive(Serialize, Deserialize)]
struct TermRow {
    doc: String,
}

/// `W#D#<first digits>` and `W#Z#<last digits, reversed>` / `<digits>#<id>`. It contains the digits of the
/// number.
#[derive(Serialize, Deserialize)]
struct PhoneRow {
    ph: String,
}

stored! { IdentityRow, EarlierRow, TermRow, PhoneRow }

#[cfg(test)]
mod tests {
    use domain::{
        BusinessAccountId, Cellphone, ContactId, Email, ExternalId, PersonJobId, PersonName, ProviderUserId,
        Timestamp, UserIds, WaId, WorkspaceId,
    };
    use uuid::Uuid;

    use super::*;
    use crate::dynamodb::write::MAX_TRANSACTION_WRITES;

    /// A contact with the maximum number of search and identity rows. Contacts of different letters share
    /// none of them.
    fn fullest(letter: char) -> Contact {
        let name = |from: u32| {
            let words: Vec<String> = (from..from + 5).map(|at| format!("{letter}{at:02}")).collect();
            PersonName::parse(&words.join(" ")).ok()
        };
        let id = ContactId::from_uuid(Uuid::from_u128(1));
        let country = if letter == 'a' { "49" } else { "34" };
        Contact {
            first_name: name(1),
            last_name: name(6),
            email: Email::parse(&format!("{letter}.{letter}p.{letter}q@{letter}.io")).ok(),
            cellphone: Cellphone::parse(&format!("+{country}15112345{}", u32::from(letter))).ok(),
            external_id: ExternalId::parse(&format!("crm-{letter}")).ok(),
            user_ids: (0..UserIds::MAX)
                .filter_map(|n| {
                    let account = BusinessAccountId::parse(&n.to_string()).ok()?;
                    Some((account, ProviderUserId::parse(&format!("US.{letter}{n}")).ok()?))
                })
                .collect(),
            wa_id: WaId::parse(&format!("{country}15112346{}", u32::from(letter))).ok(),
            ..Contact::blank(id, WorkspaceId::from_uuid(Uuid::nil()), Timestamp::from_millis(0))
        }
    }

    #[test]
    fn the_most_writes_of_a_contact_fit_into_a_transaction() {
        let (old, new) = (fullest('a'), fullest('b'));
        let create = create_writes(&old, 1, "r").unwrap().len();
        assert_eq!(create, 1 + 7 + 14 + 3);
        let replace = replace_writes(&old, &new, "r").unwrap().len();
        // Two rows for each of the two numbers that it gives up.
        assert_eq!(replace, 1 + 2 * 7 + 2 * 14 + 2 * 3 + 2 * 2);
        assert!(create.max(replace) <= MAX_TRANSACTION_WRITES);
    }

    /// The merge with the maximum number of writes: the contact that stays has nothing but a name, so all search rows of the
    /// other one become its own, and its ten names make a row each anew.
    #[test]
    fn every_transaction_of_a_merge_fits() {
        let of_four: Vec<ContactId> = (11..15).map(|n| ContactId::from_uuid(Uuid::from_u128(n))).collect();
        let merged =
            Contact { id: ContactId::from_uuid(Uuid::from_u128(2)), merged: of_four, ..fullest('b') };
        let only_named = Contact {
            email: None,
            cellphone: None,
            external_id: None,
            user_ids: UserIds::default(),
            wa_id: None,
            ..fullest('a')
        };
        let only_known = Contact { first_name: None, last_name: None, ..fullest('a') };
        let mut most = 0;
        for survivor in [
            fullest('a'),
            only_named,
            only_known,
            Contact::blank(fullest('a').id, merged.workspace_id, merged.created_at),
        ] {
            let job = PersonJobId::from_uuid(Uuid::from_u128(9));
            let next = survivor.joined(&merged, job, Timestamp::from_millis(1)).unwrap();
            let writes = join_writes(&survivor, &merged, &next, "r").unwrap().len();
            // The choices of five ids of each, and the job.
            most = most.max(writes + 2 * 5 + 1);
        }
        // Both contacts, four earlier merged ones, seven ids, two rows for each of two numbers, 17 search rows that go and 24
        // that come.
        assert_eq!(most, 2 + 4 + 7 + 2 * 2 + 17 + 17 + 11);
        assert!(most <= MAX_TRANSACTION_WRITES);
    }

    #[test]
    fn a_change_without_indexed_values_writes_only_the_contact() {
        let old = fullest('a');
        let spelled_otherwise = Contact { email: Email::parse("A.ap.aq@a.io").ok(), ..old.clone() };
        let roles = replace_writes(&old, &spelled_otherwise, "r").unwrap().roles();
        assert_eq!(roles, [Role::Entity]);
    }

    #[test]
    fn a_contact_with_only_a_number_has_one_claim_and_three_search_rows() {
        let full = fullest('a');
        let contact = Contact {
            cellphone: full.cellphone,
            ..Contact::blank(full.id, full.workspace_id, full.created_at)
        };
        let roles = create_writes(&contact, 1, "r").unwrap().roles();
        let phone = Role::Claim(IdentityField::Cellphone);
        assert_eq!(roles, [Role::Entity, phone, Role::Search, Role::Search, Role::Search]);
    }
}
