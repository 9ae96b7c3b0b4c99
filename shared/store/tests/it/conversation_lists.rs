//! Lists of conversations, by every filter: complete, newest first, each conversation once, while others
//! write.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::support::{Dice, OTHER, WORKSPACE, contact, create, shards};
use domain::conversation::{ConversationChange, Opening};
use domain::settings::workspace::list_shard;
use domain::{
    BrandId, ChannelId, Contact, ContactId, ContactRef, Conversation, ConversationId, ConversationName,
    ConversationStatus, Email, External, Internal, Timestamp, User, UserId, UserRef,
};
use futures::future::{join, join_all};
use harness::{Call, Stencil, TestDb, trips};
use store::{Changed, ConversationQuery, Opened, Page, Table, UserCreated};
use uuid::Uuid;

const STATUSES: [ConversationStatus; 5] = [
    ConversationStatus::Active,
    ConversationStatus::Ghost,
    ConversationStatus::Released,
    ConversationStatus::NotAssignedToHuman,
    ConversationStatus::Blocked,
];

/// A workspace with this number of shards, contacts and users. The last user is disabled.
struct Office {
    db: TestDb,
    shards: u8,
    contacts: Vec<Contact>,
    users: Vec<User>,
}

impl Office {
    async fn start(shard_count: u8) -> Self {
        let db = TestDb::start().await;
        shards(&db, shard_count, shard_count).await;
        let mut contacts = vec![];
        for n in 0..4 {
            let contact = contact(&db, "", "", &format!("c{n}@x.io"), &format!("+4915112345{n:03}"));
            create(&db, &contact).await;
            contacts.push(contact);
        }
        let mut users = vec![];
        for n in 0..4 {
            let email = Email::parse(&format!("u{n}@x.io")).unwrap();
            let user = User::new(UserId::generate(&**db.ids()), WORKSPACE, email, db.store().now());
            assert_eq!(
                db.store().create_user(&user, harness::operator(), None).await.unwrap(),
                UserCreated::Done
            );
            users.push(user);
        }
        let disabled = users[3].disabled(db.store().now()).unwrap();
        assert!(db.store().replace_user(&disabled, &["status"], harness::operator()).await.unwrap());
        users[3] = disabled;
        Self { db, shards: shard_count, contacts, users }
    }

    /// A conversation of random people, often created in the same millisecond as the previous one.
    fn conversation(&self, dice: &mut Dice) -> Conversation {
        if !dice.one_in(4) {
            self.db.clock().advance(Duration::from_millis(dice.below(50) as u64));
        }
        let random = Uuid::from_u64_pair(dice.below(usize::MAX) as u64, dice.below(usize::MAX) as u64);
        let now = self.db.store().now();
        let mut conversation = Conversation {
            status: dice.pick(&STATUSES),
            externals: vec![self.external(dice.below(4), now)],
            list_shard: list_shard(&random, self.shards),
            ..Conversation::blank(ConversationId::from_uuid(random), WORKSPACE, now)
        };
        for _ in 0..dice.below(4) {
            self.toggle(&mut conversation, dice);
        }
        conversation
    }

    /// Adds or removes a random participant; the last customer stays.
    fn toggle(&self, conversation: &mut Conversation, dice: &mut Dice) {
        let (n, now) = (dice.below(4), self.db.store().now());
        if dice.one_in(2) {
            let internals = &mut conversation.internals;
            match internals.iter().position(|internal| internal.user == self.users[n].id) {
                Some(at) => drop(internals.remove(at)),
                None => internals.push(self.internal(n, now)),
            }
        } else {
            let externals = &mut conversation.externals;
            match externals.iter().position(|external| external.contact == self.contacts[n].id) {
                Some(at) if externals.len() > 1 => drop(externals.remove(at)),
                Some(_) => {}
                None => externals.push(self.external(n, now)),
            }
        }
    }

    fn external(&self, n: usize, joined_at: Timestamp) -> External {
        External {
            contact: self.contacts[n].id,
            shown: ContactRef::Cellphone(self.contacts[n].cellphone.clone().unwrap()),
            channel: ChannelId::parse("106540352242922").unwrap(),
            brand: BrandId::parse("brand").unwrap(),
            joined_at,
            last_seen_at: None,
        }
    }

    fn internal(&self, n: usize, joined_at: Timestamp) -> Internal {
        let shown = UserRef::Email(self.users[n].email.clone());
        Internal { user: self.users[n].id, shown, joined_at, last_seen_at: None }
    }

    async fn open(&self, conversation: &Conversation) {
        let opening = Opening { conversation: conversation.clone(), new_contacts: vec![], plan: None };
        let request = format!("open {}", conversation.id);
        let opened = self.db.store().open_conversation(&opening, Duration::from_secs(120), None, &request);
        assert_eq!(opened.await.unwrap(), Opened::Done);
    }

    async fn change(&self, old: &Conversation, new: &Conversation) {
        let change = ConversationChange { conversation: new.clone(), new_contacts: vec![] };
        let request = format!("change {} {}", new.id, new.version);
        assert_eq!(self.db.store().change_conversation(old, &change, &request).await.unwrap(), Changed::Done);
    }

    /// Creates this many conversations of random people.
    async fn some(&self, dice: &mut Dice, count: usize) -> Vec<Conversation> {
        let conversations: Vec<Conversation> = (0..count).map(|_| self.conversation(dice)).collect();
        join_all(conversations.iter().map(|conversation| self.open(conversation))).await;
        conversations
    }

    /// Copies of a conversation, each a second later than the previous one, in those of its lists whose keys
    /// contain `lists`.
    async fn many_like(&self, first: &Conversation, count: usize, lists: &str) -> Vec<ConversationId> {
        self.open(first).await;
        let stencil = Stencil::of(&self.db, first, lists);
        let mut made = vec![first.id];
        for n in 1..count {
            let at = first.created_at.plus(Duration::from_secs(n as u64));
            let id = ConversationId::generate(&**self.db.ids());
            let copy = Conversation { id, created_at: at, updated_at: at, ..first.clone() };
            self.db.import(Table::Conversations, &stencil.rows(&copy));
            made.push(id);
        }
        made
    }

    async fn page(&self, query: ConversationQuery) -> Page<Conversation> {
        self.db.store().conversations_page(WORKSPACE, query).await.unwrap()
    }

    /// The query for a filter. The naming says how it names people.
    fn query(&self, filter: Filter, named: Naming) -> ConversationQuery {
        let external = filter.external.map(|n| match named {
            Naming::Id => ContactRef::Id(self.contacts[n].id),
            Naming::Email => ContactRef::Email(Email::parse(&format!("C{n}@X.io")).unwrap()),
            Naming::Phone => ContactRef::Cellphone(self.contacts[n].cellphone.clone().unwrap()),
        });
        let internal = filter.internal.map(|n| match named {
            Naming::Id | Naming::Phone => UserRef::Id(self.users[n].id),
            Naming::Email => UserRef::Email(Email::parse(&format!("U{n}@X.io")).unwrap()),
        });
        ConversationQuery { status: filter.status, external, internal, ..everything(20) }
    }

    /// Whether a filter shows a conversation.
    fn shows(&self, filter: Filter, conversation: &Conversation) -> bool {
        let (externals, internals) = (&conversation.externals, &conversation.internals);
        filter.status.is_none_or(|status| conversation.status == status)
            && filter.external.is_none_or(|n| externals.iter().any(|one| one.contact == self.contacts[n].id))
            && filter.internal.is_none_or(|n| internals.iter().any(|one| one.user == self.users[n].id))
    }

    /// All pages of a query, each with its own size.
    async fn pages(
        &self,
        query: ConversationQuery,
        mut page_size: impl FnMut() -> usize,
    ) -> Vec<Page<Conversation>> {
        let (mut query, mut pages) = (query, vec![]);
        loop {
            query.page_size = page_size();
            let page = self.page(query.clone()).await;
            assert!(page.items.len() <= query.page_size);
            query.after.clone_from(&page.next);
            pages.push(page);
            if query.after.is_none() {
                return pages;
            }
            assert!(pages.len() < 10_000, "the pages do not end");
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Naming {
    Id,
    Email,
    Phone,
}

const NAMINGS: [Naming; 3] = [Naming::Id, Naming::Email, Naming::Phone];

/// An optional status, and optionally a contact and a user by number.
#[derive(Clone, Copy, Debug)]
struct Filter {
    status: Option<ConversationStatus>,
    external: Option<usize>,
    internal: Option<usize>,
}

const ALL: Filter = Filter { status: None, external: None, internal: None };

/// All combinations of filters: two statuses, all contacts and users.
fn filters() -> Vec<Filter> {
    let statuses = [None, Some(STATUSES[0]), Some(STATUSES[3])];
    let people = || [None, Some(0), Some(1), Some(2), Some(3)];
    let of_status = |status| {
        people().into_iter().flat_map(move |external| {
            people().into_iter().map(move |internal| Filter { status, external, internal })
        })
    };
    statuses.into_iter().flat_map(of_status).collect()
}

fn everything(page_size: usize) -> ConversationQuery {
    ConversationQuery { status: None, external: None, internal: None, page_size, after: None }
}

/// The conversations in the order of lists.
fn in_order<'a>(conversations: impl IntoIterator<Item = &'a Conversation>) -> Vec<&'a Conversation> {
    let mut conversations: Vec<&Conversation> = conversations.into_iter().collect();
    conversations.sort_by_key(|one| place(one));
    conversations
}

fn place(conversation: &Conversation) -> (std::cmp::Reverse<Timestamp>, String) {
    (std::cmp::Reverse(conversation.created_at), conversation.id.to_string())
}

fn shown(pages: &[Page<Conversation>]) -> Vec<&Conversation> {
    pages.iter().flat_map(|page| &page.items).collect()
}

fn ids<'a>(conversations: impl IntoIterator<Item = &'a Conversation>) -> Vec<ConversationId> {
    conversations.into_iter().map(|conversation| conversation.id).collect()
}

fn read_units(calls: &[Call]) -> f64 {
    calls.iter().map(|call| call.read_units).sum()
}

#[tokio::test]
async fn every_combination_of_filters_lists_all_matches_newest_first() {
    for shard_count in [1, 4] {
        let office = Office::start(shard_count).await;
        let mut dice = Dice::new(u64::from(shard_count));
        let conversations = office.some(&mut dice, 160).await;
        for filter in filters() {
            let query = office.query(filter, dice.pick(&NAMINGS));
            // Lists without a person are long. With larger pages they still have several.
            let of_somebody = filter.external.is_some() || filter.internal.is_some();
            let largest = if of_somebody { 12 } else { 100 };
            let pages = office.pages(query.clone(), || 1 + dice.below(largest)).await;
            let expected = conversations.iter().filter(|one| office.shows(filter, one));
            assert_eq!(shown(&pages), in_order(expected), "{filter:?}, {query:?}");
        }
    }
}

#[tokio::test]
async fn a_list_is_complete_if_all_the_newest_are_in_one_shard() {
    let office = Office::start(4).await;
    let mut dice = Dice::new(10);
    let mut conversations = vec![];
    for n in 0..120 {
        let conversation = Conversation { list_shard: n / 30, ..office.conversation(&mut dice) };
        office.open(&conversation).await;
        conversations.push(conversation);
    }
    let active = office.query(Filter { status: Some(ConversationStatus::Active), ..ALL }, Naming::Id);
    for _ in 0..6 {
        let pages = office.pages(everything(1), || 1 + dice.below(100)).await;
        assert_eq!(shown(&pages), in_order(&conversations));
        let pages = office.pages(active.clone(), || 1 + dice.below(20)).await;
        let expected = conversations.iter().filter(|one| one.status == ConversationStatus::Active);
        assert_eq!(shown(&pages), in_order(expected));
    }
}

#[tokio::test]
async fn each_way_to_name_a_person_lists_the_same() {
    let office = Office::start(1).await;
    office.some(&mut Dice::new(3), 40).await;
    let filter = Filter { external: Some(1), internal: Some(3), ..ALL };
    let mut lists = BTreeSet::new();
    for naming in NAMINGS {
        let pages = office.pages(office.query(filter, naming), || 7).await;
        lists.insert(ids(shown(&pages)));
    }
    assert_eq!(lists.len(), 1);
    assert!(lists.first().is_some_and(|list| list.len() > 1), "with a user who is disabled, too");
}

#[tokio::test]
async fn a_person_unknown_or_of_another_workspace_has_no_conversations() {
    let office = Office::start(1).await;
    office.some(&mut Dice::new(4), 30).await;
    let (contact, user) = (&office.contacts[0], &office.users[0]);
    let unknown_contacts = [
        ContactRef::Id(ContactId::generate(&**office.db.ids())),
        ContactRef::Email(Email::parse("nobody@x.io").unwrap()),
        ContactRef::Cellphone(domain::Cellphone::parse("+4915199999999").unwrap()),
    ];
    let unknown_users = [
        UserRef::Id(UserId::generate(&**office.db.ids())),
        UserRef::Email(Email::parse("nobody@x.io").unwrap()),
    ];
    let external = |external| ConversationQuery { external: Some(external), ..everything(20) };
    let internal = |internal| ConversationQuery { internal: Some(internal), ..everything(20) };
    let mut new_contacts: Vec<ConversationQuery> = vec![];
    new_contacts.extend(unknown_contacts.clone().map(external));
    new_contacts.extend(unknown_users.clone().map(internal));
    // Also together with a known person.
    let known_user = UserRef::Id(user.id);
    new_contacts.extend(
        unknown_contacts
            .map(|named| ConversationQuery { internal: Some(known_user.clone()), ..external(named) }),
    );
    let known_contact = ContactRef::Id(contact.id);
    new_contacts.extend(
        unknown_users
            .map(|named| ConversationQuery { external: Some(known_contact.clone()), ..internal(named) }),
    );
    let nothing = Page { items: vec![], next: None };
    for query in new_contacts {
        assert_eq!(office.page(query.clone()).await, nothing, "{query:?}");
    }
    // Ids and addresses of one workspace find nothing in another.
    let foreign = [
        everything(20),
        external(ContactRef::Id(contact.id)),
        external(ContactRef::Email(contact.email.clone().unwrap())),
        internal(UserRef::Id(user.id)),
        internal(UserRef::Email(user.email.clone())),
    ];
    for query in foreign {
        let page = office.db.store().conversations_page(OTHER, query.clone()).await.unwrap();
        assert_eq!(page, nothing, "{query:?}");
        assert!(!office.page(query).await.items.is_empty());
    }
}

#[tokio::test]
async fn the_last_page_has_no_next_page() {
    let office = Office::start(4).await;
    office.some(&mut Dice::new(5), 12).await;
    assert_eq!(office.pages(everything(1), || 6).await.len(), 2);
    assert_eq!(office.pages(everything(1), || 12).await.len(), 1);
}

/// The starts and ends of all writes, each at a counted moment.
#[derive(Default)]
struct History {
    moments: u64,
    versions: BTreeMap<ConversationId, Vec<Version>>,
}

struct Version {
    conversation: Conversation,
    begun: u64,
    done: Option<u64>,
}

impl History {
    fn moment(&mut self) -> u64 {
        self.moments += 1;
        self.moments
    }

    fn begin(&mut self, conversation: &Conversation) {
        let version = Version { conversation: conversation.clone(), begun: self.moment(), done: None };
        self.versions.entry(conversation.id).or_default().push(version);
    }

    fn end(&mut self, conversation: &Conversation) {
        let done = Some(self.moment());
        self.versions.get_mut(&conversation.id).unwrap().last_mut().unwrap().done = done;
    }

    fn latest(&self, id: ConversationId) -> Conversation {
        self.versions[&id].last().unwrap().conversation.clone()
    }

    /// The conversations that no writer changed between two moments.
    fn settled(&self, from: u64, to: u64) -> impl Iterator<Item = &Conversation> {
        self.versions.values().filter_map(move |versions| {
            let before = versions.iter().rfind(|version| version.begun < to)?;
            before.done.is_some_and(|done| done < from).then_some(&before.conversation)
        })
    }

    /// The versions of a conversation that a page read between two moments may show.
    fn may_show(&self, id: ConversationId, from: u64, to: u64) -> impl Iterator<Item = &Conversation> {
        let versions = &self.versions[&id];
        let oldest = versions.iter().rposition(|version| version.done.is_some_and(|done| done < from));
        let versions = versions[oldest.unwrap_or(0)..].iter().filter(move |version| version.begun < to);
        versions.map(|version| &version.conversation)
    }
}

impl Office {
    /// Creates and changes conversations. No other writer changes those in `own`.
    async fn write_on(&self, history: &RefCell<History>, mut own: Vec<ConversationId>, dice: &mut Dice) {
        for _ in 0..80 {
            if dice.one_in(3) {
                let new = self.conversation(dice);
                own.push(new.id);
                history.borrow_mut().begin(&new);
                self.open(&new).await;
                history.borrow_mut().end(&new);
                continue;
            }
            let old = history.borrow().latest(dice.pick(&own));
            let mut new = Conversation { version: old.version + 1, ..old.clone() };
            new.updated_at = self.db.store().now();
            match dice.below(3) {
                0 => new.status = dice.pick(&STATUSES),
                1 => new.name = ConversationName::parse(&format!("Name {}", new.version)).ok(),
                _ => self.toggle(&mut new, dice),
            }
            history.borrow_mut().begin(&new);
            self.change(&old, &new).await;
            history.borrow_mut().end(&new);
        }
    }

    /// Reads one list after another, and compares each page with what was written.
    async fn read_on(&self, history: &RefCell<History>, dice: &mut Dice) -> usize {
        let (all, mut read) = (filters(), 0);
        for _ in 0..14 {
            let filter = if dice.one_in(4) { ALL } else { dice.pick(&all) };
            let mut query = self.query(filter, dice.pick(&NAMINGS));
            let (began, mut seen) = (history.borrow_mut().moment(), vec![]);
            loop {
                let largest = dice.pick(&[9, 9, 9, 100]);
                query.page_size = 1 + dice.below(largest);
                let from = history.borrow_mut().moment();
                let page = self.page(query.clone()).await;
                let to = history.borrow_mut().moment();
                for one in &page.items {
                    assert!(self.shows(filter, one), "{filter:?} shows {one:?}");
                    let history = history.borrow();
                    let written = history.may_show(one.id, from, to).any(|version| version == one);
                    assert!(written, "{filter:?} shows what did not stand so: {one:?}");
                }
                seen.extend(page.items);
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
            assert!(seen.is_sorted_by(|a, b| place(a) < place(b)), "{filter:?} in order, each once");
            let ended = history.borrow_mut().moment();
            let seen: BTreeSet<ConversationId> = seen.iter().map(|one| one.id).collect();
            for settled in history.borrow().settled(began, ended).filter(|one| self.shows(filter, one)) {
                assert!(seen.contains(&settled.id), "{filter:?} skips {settled:?}");
                read += 1;
            }
        }
        read
    }
}

#[tokio::test]
async fn paging_neither_skips_nor_repeats_while_others_create_and_change_conversations() {
    for seed in 0..3 {
        let office = Office::start([4, 1, 3][seed as usize]).await;
        let mut dice = Dice::new(100 + seed);
        let old = office.some(&mut dice, 90).await;
        let history = RefCell::new(History::default());
        for conversation in &old {
            history.borrow_mut().begin(conversation);
            history.borrow_mut().end(conversation);
        }
        // No writer changes one third of the conversations.
        let (mut one, mut other) = (Dice::new(200 + seed), Dice::new(300 + seed));
        let (mut fast, mut slow) = (Dice::new(400 + seed), Dice::new(500 + seed));
        let own = |from: usize| ids(old.iter().skip(from).step_by(3));
        let writers =
            join(office.write_on(&history, own(0), &mut one), office.write_on(&history, own(1), &mut other));
        let readers = join(office.read_on(&history, &mut fast), office.read_on(&history, &mut slow));
        let (_, (read, also_read)) = join(writers, readers).await;
        assert!(read + also_read > 200, "{read} {also_read}: too few to show anything");

        // After all writers have ended, each list contains exactly what was written.
        let now: Vec<Conversation> = old
            .iter()
            .map(|one| one.id)
            .chain(history.borrow().versions.keys().copied())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(|id| history.borrow().latest(id))
            .collect();
        for filter in filters() {
            let pages = office.pages(office.query(filter, Naming::Id), || 100).await;
            let expected = now.iter().filter(|one| office.shows(filter, one));
            assert_eq!(shown(&pages), in_order(expected), "{filter:?}");
        }
    }
}

#[tokio::test]
async fn paging_continues_while_shards_are_added() {
    let mut office = Office::start(1).await;
    let mut dice = Dice::new(6);
    let old = office.some(&mut dice, 60).await;
    let (mut seen, mut query) = (vec![], everything(7));
    for step in 0.. {
        let page = office.page(query.clone()).await;
        seen.extend(ids(&page.items));
        match step {
            1 => shards(&office.db, 3, 1).await,
            2 => office.db.clock().advance(Duration::from_secs(60)),
            3 => {
                shards(&office.db, 3, 3).await;
                office.shards = 3;
            }
            4 => office.db.clock().advance(Duration::from_secs(60)),
            _ => {}
        }
        office.some(&mut dice, 3).await;
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids(in_order(&old)));
    assert_eq!(shown(&office.pages(everything(1), || 20).await).len(), 60 + 3 * 9);
}

#[tokio::test]
async fn a_page_is_one_round_trip_and_two_if_a_person_is_not_named_by_id() {
    for shard_count in [1, 4] {
        let office = Office::start(shard_count).await;
        office.some(&mut Dice::new(7), 40).await;
        // Puts the number of shards into memory.
        office.page(everything(20)).await;
        for filter in filters() {
            for naming in NAMINGS {
                let by_name = match naming {
                    Naming::Id => false,
                    Naming::Email => filter.external.is_some() || filter.internal.is_some(),
                    Naming::Phone => filter.external.is_some(),
                };
                office.db.forget_calls();
                let page = office.page(office.query(filter, naming)).await;
                // The id may be that of a contact which became part of another one.
                let is_asked =
                    matches!(naming, Naming::Id) && filter.external.is_some() && page.items.is_empty();
                let more = usize::from(by_name) + usize::from(is_asked);
                assert_eq!(trips(&office.db.calls()), 1 + more, "{filter:?} {naming:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_number_of_shards_is_read_beside_the_first() {
    for (shard_count, expected) in [(1, [1, 1]), (4, [2, 1])] {
        let office = Office::start(shard_count).await;
        office.some(&mut Dice::new(8), 30).await;
        office.db.clock().advance(Duration::from_secs(60));
        let mut measured = vec![];
        for _ in 0..2 {
            office.db.forget_calls();
            office.page(everything(20)).await;
            measured.push(trips(&office.db.calls()));
        }
        assert_eq!(measured, expected, "cold, then warm");
    }
}

/// A conversation of contact 0 and user 0, active, in shard 0.
fn sample(office: &Office) -> Conversation {
    Conversation {
        status: ConversationStatus::Active,
        externals: vec![office.external(0, office.db.store().now())],
        internals: vec![office.internal(0, office.db.store().now())],
        list_shard: 0,
        ..office.conversation(&mut Dice::new(9))
    }
}

#[tokio::test]
async fn the_cost_of_a_page_depends_on_its_size_and_not_on_the_number_of_conversations() {
    let (contact, user, active) = (Some(0), Some(0), Some(ConversationStatus::Active));
    let lists = [
        ("all", ALL),
        ("by status", Filter { status: active, ..ALL }),
        ("an external's", Filter { external: contact, ..ALL }),
        ("an internal's", Filter { internal: user, ..ALL }),
        ("an external's by status", Filter { external: contact, status: active, ..ALL }),
        ("of both", Filter { external: contact, internal: user, ..ALL }),
    ];
    let mut measured: Vec<Vec<(&str, f64, f64)>> = vec![];
    for count in [240, 1_200] {
        let office = Office::start(1).await;
        office.many_like(&sample(&office), count, "").await;
        let mut of_size = vec![];
        for (what, filter) in lists {
            let mut units = vec![];
            for page_size in [20, 100] {
                let query = ConversationQuery { page_size, ..office.query(filter, Naming::Id) };
                office.page(query.clone()).await;
                office.db.forget_calls();
                let page = office.page(query).await;
                assert_eq!(page.items.len(), page_size);
                units.push(read_units(&office.db.calls()));
            }
            of_size.push((what, units[0], units[1]));
        }
        measured.push(of_size);
    }
    assert_eq!(measured[0], measured[1], "with 240 conversations and with 1,200");
    // A conversation of two people is three quarters of a kilobyte. A read of an index costs half. For a
    // contact together with a user, twice the page's rows are read, because some are of other users.
    let expected = [
        ("all", 4.0, 17.0),
        ("by status", 2.0, 8.5),
        ("an external's", 4.0, 19.0),
        ("an internal's", 4.0, 19.0),
        ("an external's by status", 2.0, 9.5),
        ("of both", 9.0, 38.0),
    ];
    assert_eq!(measured[0], expected);
}

#[tokio::test]
async fn the_conversations_of_a_contact_with_a_user_are_searched_among_a_thousand_at_most() {
    let office = Office::start(1).await;
    let with_user = sample(&office);
    office.open(&with_user).await;
    office.db.clock().advance(Duration::from_secs(1));
    let without = Conversation { internals: vec![], ..sample(&office) };
    let without = Conversation { id: ConversationId::generate(&**office.db.ids()), ..without };
    office.many_like(&without, 1_300, "").await;

    let filter = Filter { external: Some(0), internal: Some(0), ..ALL };
    for page_size in [1, 20, 100] {
        let query = ConversationQuery { page_size, ..office.query(filter, Naming::Id) };
        office.db.forget_calls();
        let first = office.page(query.clone()).await;
        assert_eq!(first.items, [], "a short page");
        assert!(first.next.is_some(), "that has a next one");
        assert!(office.db.calls().len() <= 4);
        assert!(read_units(&office.db.calls()) <= 300.0, "{}", read_units(&office.db.calls()));

        let second = office.page(ConversationQuery { after: first.next, ..query }).await;
        assert_eq!((second.items, second.next), (vec![with_user.clone()], None));
    }
}

#[tokio::test]
async fn a_page_of_the_largest_conversations_is_complete() {
    let office = Office::start(1).await;
    let mut largest = sample(&office);
    let long = |n: usize| Email::parse(&format!("{n:02}{}@x.io", "x".repeat(240))).unwrap();
    let text = |n: usize| format!("{n:0>128}");
    largest.externals = (0..Conversation::MAX_EXTERNALS)
        .map(|n| External {
            contact: ContactId::generate(&**office.db.ids()),
            shown: ContactRef::Email(long(n)),
            channel: ChannelId::parse(&text(n)).unwrap(),
            brand: BrandId::parse(&text(n)).unwrap(),
            ..office.external(0, office.db.store().now())
        })
        .collect();
    largest.internals = (0..Conversation::MAX_INTERNALS)
        .map(|n| Internal {
            user: UserId::generate(&**office.db.ids()),
            shown: UserRef::Email(long(n)),
            ..office.internal(0, office.db.store().now())
        })
        .collect();
    let made = office.many_like(&largest, 120, "#A#").await;
    office.page(everything(1)).await;
    office.db.forget_calls();
    let page = office.page(everything(100)).await;
    let newest: Vec<ConversationId> = made.iter().rev().take(100).copied().collect();
    assert_eq!(ids(&page.items), newest);
    assert_eq!(trips(&office.db.calls()), 2, "a query answers with a megabyte at most");
}
