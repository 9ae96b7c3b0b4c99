//! Lists of conversations, in workspaces with one hundred and with one hundred thousand of them.

use std::time::Duration;

use bench::{Cost, Table};
use domain::settings::workspace::list_shard;
use domain::{
    Cellphone, Contact, ContactRef, Conversation, ConversationId, ConversationStatus, Internal, User,
    UserRef, Workspace,
};
use harness::{Stencil, World};
use store::ConversationQuery;

const SIZES: [(&str, usize); 2] = [("100", 100), ("100,000", 100_000)];
const SHARDS: [(&str, u8); 2] = [("one shard", 1), ("four shards", 4)];
/// How many conversations are imported at a time.
const AT_ONCE: usize = 500;

/// One read: its name, page size, whether it reads the page in the middle, and its filters.
struct Read {
    name: &'static str,
    page_size: usize,
    deep: bool,
    status: bool,
    external: Option<Naming>,
    internal: bool,
}

#[derive(Clone, Copy)]
enum Naming {
    Id,
    Phone,
}

const FIRST: Read =
    Read { name: "", page_size: 20, deep: false, status: false, external: None, internal: false };

const READS: &[Read] = &[
    Read { name: "first page of 20", ..FIRST },
    Read { name: "first page of 100", page_size: 100, ..FIRST },
    Read { name: "page of 20 from the middle", deep: true, ..FIRST },
    Read { name: "20 of a status", status: true, ..FIRST },
    Read { name: "20 of an external", external: Some(Naming::Id), ..FIRST },
    Read { name: "20 of an external by phone", external: Some(Naming::Phone), ..FIRST },
    Read { name: "20 of an external, of a status", external: Some(Naming::Id), status: true, ..FIRST },
    Read { name: "20 of an internal", internal: true, ..FIRST },
    Read { name: "20 of an internal, of a status", internal: true, status: true, ..FIRST },
    Read { name: "20 of an external with an internal", external: Some(Naming::Id), internal: true, ..FIRST },
];

/// The reads of endpoint 2 itself, without authentication and rate limit, which run beside them.
pub(crate) async fn of_conversations() -> Table {
    let names = READS.iter().map(|read| read.name.to_owned());
    let mut table = Table::new("Lists of conversations: round trips / read units", "page", names);
    for (in_shards, shards) in SHARDS {
        for (many, size) in SIZES {
            let head = format!("{many} in {in_shards}");
            eprintln!("conversations: {head}");
            let office = Office::with(shards, size).await;
            let mut costs = vec![];
            for read in READS {
                costs.push(office.cost(read).await);
            }
            table.column(head, costs);
        }
    }
    table
}

/// A workspace with a given number of conversations. One contact is in every second conversation. One user is in every
/// second conversation of that contact and in every second of the others, and the same holds for the active ones.
struct Office {
    world: World,
    size: usize,
    contact: Contact,
    user: User,
}

impl Office {
    async fn with(shards: u8, size: usize) -> Self {
        let world = World::start().await;
        spread(&world, shards).await;
        let named =
            |cellphone| move |contact: &mut Contact| contact.cellphone = Cellphone::parse(cellphone).ok();
        let (contact, other) =
            (world.contact(named("+4915112345678")).await, world.contact(named("+4915187654321")).await);
        let (user, other_user) =
            (world.user("agent@example.com", |_| ()).await, world.user("other@example.com", |_| ()).await);

        let first = world.conversation(|one| {
            one.externals = vec![World::external(contact.id, "106540352242922")];
            one.internals = vec![Internal {
                user: user.id,
                shown: UserRef::Email(user.email.clone()),
                joined_at: one.created_at,
                last_seen_at: None,
            }];
        });
        let first = first.await;
        let stencil = Stencil::of(&world.db, &first, "");
        let nth = |n: usize| {
            let at = first.created_at.plus(Duration::from_secs(n as u64));
            let id = ConversationId::generate(world.db.store().ids());
            let mut one = Conversation { id, created_at: at, updated_at: at, ..first.clone() };
            one.list_shard = list_shard(id.as_uuid(), shards);
            if n & 1 != 0 {
                one.externals[0].contact = other.id;
            }
            if n & 2 != 0 {
                one.internals[0].user = other_user.id;
            }
            if n & 4 != 0 {
                one.status = ConversationStatus::Released;
            }
            one
        };
        for from in (1..size).step_by(AT_ONCE) {
            let rows = (from..size.min(from + AT_ONCE)).flat_map(|n| stencil.rows(&nth(n)));
            world.db.import(store::Table::Conversations, &rows.collect::<Vec<_>>());
        }
        Self { world, size, contact, user }
    }

    /// The cost of a read in a process that has answered another one before.
    async fn cost(&self, read: &Read) -> Cost {
        let external = read.external.map(|named| match (named, &self.contact.cellphone) {
            (Naming::Phone, Some(cellphone)) => ContactRef::Cellphone(cellphone.clone()),
            _ => ContactRef::Id(self.contact.id),
        });
        let query = ConversationQuery {
            status: read.status.then_some(ConversationStatus::Active),
            external,
            internal: read.internal.then_some(UserRef::Id(self.user.id)),
            page_size: read.page_size,
            after: None,
        };
        let after = if read.deep { self.middle(&query).await } else { None };
        self.page(query.clone()).await;
        self.world.db.forget_calls();
        let shown = self.page(ConversationQuery { after, ..query }).await.items.len();
        assert_eq!(shown, read.page_size, "{}: the page must be full", read.name);
        Cost::of_calls(&self.world.db)
    }

    /// The cursor after half of the conversations.
    async fn middle(&self, query: &ConversationQuery) -> Option<String> {
        let (mut query, mut seen) = (ConversationQuery { page_size: 50, ..query.clone() }, 0);
        while seen < self.size / 2 {
            let page = self.page(query.clone()).await;
            seen += page.items.len();
            query.after = page.next;
        }
        query.after
    }

    async fn page(&self, query: ConversationQuery) -> store::Page<Conversation> {
        match self.world.db.store().conversations_page(self.world.workspace, query).await {
            Ok(page) => page,
            Err(error) => panic!("cannot read a page: {error}"),
        }
    }
}

/// Spreads the lists of the workspace over this number of shards.
async fn spread(world: &World, shards: u8) {
    let store = world.db.store();
    let Ok(Some(seen)) = store.workspace(world.workspace).await else {
        panic!("the workspace does not exist")
    };
    let next =
        Workspace { list_shards_read: shards, list_shards_write: shards, version: seen.version + 1, ..seen };
    assert!(store.replace_workspace(&next).await.is_ok_and(|replaced| replaced));
    // After this time no process has the old setting cached.
    world.db.clock().advance(Duration::from_secs(60));
}
