//! Shared by the tests: short constructors of contacts, and reproducible random
//! numbers.

pub(crate) mod hooks;

use domain::{Cellphone, Contact, ContactId, Email, PersonName, Timestamp, Workspace, WorkspaceId};
use harness::TestDb;
use store::{ContactQuery, Created, Page, Table};
use uuid::Uuid;

pub(crate) const WORKSPACE: WorkspaceId =
    WorkspaceId::from_uuid(Uuid::from_u64_pair(0x4000, 0x8000_0000_0000_00aa));
pub(crate) const OTHER: WorkspaceId =
    WorkspaceId::from_uuid(Uuid::from_u64_pair(0x4000, 0x8000_0000_0000_00bb));

/// A database with a person key, which its store remembers.
pub(crate) async fn with_person_key() -> TestDb {
    let db = TestDb::start().await;
    assert!(db.store().ensure_person_key([9; 32]).await.unwrap());
    db.store().person_key().await.unwrap();
    db.forget_calls();
    db
}

/// A contact of [`WORKSPACE`]; empty texts are absent fields.
pub(crate) fn contact(db: &TestDb, first: &str, last: &str, email: &str, cellphone: &str) -> Contact {
    Contact {
        first_name: PersonName::parse(first).ok(),
        last_name: PersonName::parse(last).ok(),
        email: Email::parse(email).ok(),
        cellphone: Cellphone::parse(cellphone).ok(),
        ..blank(db)
    }
}

pub(crate) fn blank(db: &TestDb) -> Contact {
    Contact::blank(ContactId::generate(&**db.ids()), WORKSPACE, db.store().now())
}

pub(crate) async fn create(db: &TestDb, contact: &Contact) {
    let request = format!("create {}", contact.id);
    assert_eq!(db.store().create_contact(contact, &request).await.unwrap(), Created::Done);
}

/// The next version of a contact, changed by `change`.
pub(crate) fn next(contact: &Contact, now: Timestamp, change: impl FnOnce(&mut Contact)) -> Contact {
    let mut next = Contact { version: contact.version + 1, updated_at: now, ..contact.clone() };
    change(&mut next);
    next
}

/// Sets the workspace's number of shards.
pub(crate) async fn shards(db: &TestDb, read: u8, write: u8) {
    let (store, now) = (db.store(), db.store().now());
    let seen = store.workspace(WORKSPACE).await.unwrap();
    let mut workspace = match &seen {
        Some(workspace) => Workspace { version: workspace.version + 1, ..workspace.clone() },
        None => Workspace::new(WORKSPACE, "Test", now).unwrap(),
    };
    (workspace.list_shards_read, workspace.list_shards_write) = (read, write);
    if seen.is_none() {
        assert!(store.create_workspace(&workspace).await.unwrap());
    }
    db.change_row(Table::Workspaces, &format!("{WORKSPACE}#W"), "W", |row| {
        row["listShardsRead"] = serde_json::json!({ "N": read.to_string() });
        row["listShardsWrite"] = serde_json::json!({ "N": write.to_string() });
    });
}

/// A query for all contacts.
pub(crate) fn everything(page_size: usize) -> ContactQuery {
    ContactQuery { owner: None, external_id: None, search: None, page_size, after: None }
}

/// All pages of a query, each with its own size.
pub(crate) async fn pages(
    db: &TestDb,
    workspace: WorkspaceId,
    query: &ContactQuery,
    mut page_size: impl FnMut() -> usize,
) -> Vec<Page<Contact>> {
    let mut query = query.clone();
    let mut pages = vec![];
    loop {
        query.page_size = page_size();
        let page = db.store().contacts_page(workspace, query.clone()).await.unwrap();
        assert!(page.items.len() <= query.page_size);
        query.after.clone_from(&page.next);
        pages.push(page);
        if query.after.is_none() {
            return pages;
        }
        assert!(pages.len() < 10_000, "the pages do not end");
    }
}

pub(crate) fn ids(pages: &[Page<Contact>]) -> Vec<ContactId> {
    pages.iter().flat_map(|page| &page.items).map(|contact| contact.id).collect()
}

pub(crate) type Row = std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>;

/// All rows of the contacts table, sorted by key.
pub(crate) async fn rows(db: &TestDb) -> Vec<Row> {
    let mut rows = vec![];
    let mut from = None;
    loop {
        let scan = db.client().scan().table_name(db.table(Table::Contacts));
        let answer = scan.set_exclusive_start_key(from).send().await.unwrap();
        rows.extend(answer.items.unwrap_or_default());
        from = answer.last_evaluated_key;
        if from.is_none() {
            break;
        }
    }
    rows.sort_by_key(|row| (row["pk"].as_s().unwrap().clone(), row["sk"].as_s().unwrap().clone()));
    rows
}

/// A generator of the same random numbers in every run (xorshift).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
