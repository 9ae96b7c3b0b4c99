//! Customers who move to another number or user id.

use std::time::Duration;

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::{Cellphone, ChannelId, Contact, ProviderUserId, Reached, WaId};
use harness::{Fault, OptedOut, TestClock, World, trips};
use serde_json::{Value, json};
use store::{Image, Table};

use crate::{LINE, Site};

const OLD: &str = "14155550123";
const NEW: &str = "14155550199";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A change of a number or a user id, as the provider tells it. Empty texts are absent.
struct Change<'a> {
    from: &'a str,
    to: &'a str,
    previous_user_id: &'a str,
    user_id: &'a str,
    /// Seconds since a day after the test began.
    at: i64,
}

const NUMBER: Change<'_> = Change { from: OLD, to: NEW, previous_user_id: "", user_id: "", at: 0 };

impl Site {
    async fn customer(&self, number: &str, user_id: &str) -> Contact {
        let change = |contact: &mut Contact| {
            contact.cellphone = Cellphone::parse(&format!("+{number}")).ok();
            contact.user_ids = World::user_ids(user_id);
        };
        self.world.contact(change).await
    }

    async fn contact(&self, of: &Contact) -> Contact {
        self.store().contact(of.workspace_id, of.id).await.unwrap().unwrap()
    }

    /// The number and the user id of a contact; empty if absent.
    async fn ids(&self, of: &Contact) -> (String, String) {
        let contact = self.contact(of).await;
        let number = contact.cellphone.map_or(String::new(), |number| number.digits().to_owned());
        (number, contact.user_ids.ids().map(ProviderUserId::as_str).collect::<Vec<_>>().join(" "))
    }

    async fn holder(&self, number: &str, user_id: &str) -> Option<domain::ContactId> {
        let reached = Reached::named(Some(number), Some(user_id));
        self.store().contact_reached_at(self.world.workspace, &reached).await.unwrap()
    }

    /// Tells the function of these changes, in one piece.
    async fn moves(&self, changes: &[&Change<'_>]) {
        assert_eq!(self.told(changes).await, Vec::<String>::new());
    }

    async fn told(&self, changes: &[&Change<'_>]) -> Vec<String> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // The customers exist for a day, and the changes are some minutes old.
        let begin = TestClock::START.plus(DAY);
        let missing = begin.plus(DAY).since(self.store().now());
        self.world.db.clock().advance(missing);
        let begin = begin.as_seconds();
        let message = |change: &&Change<'_>| {
            json!({
                "id": format!("wamid.{}.{}", change.to, change.at),
                "from": some(change.from),
                "from_user_id": some(change.previous_user_id),
                "timestamp": (begin + change.at).to_string(),
                "type": "system",
                "system": {
                    "type": if change.to.is_empty() { "user_changed_user_id" } else { "user_changed_number" },
                    "wa_id": some(change.to),
                    "user_id": some(change.user_id),
                    "previous_user_id": some(change.previous_user_id),
                },
            })
        };
        let messages: Vec<Value> = changes.iter().map(message).collect();
        self.process(&[self.piece(LINE, "messages", &messages)]).await
    }

    async fn opts_out(&self, number: &str) {
        let number = Cellphone::parse(&format!("+{number}")).unwrap();
        let (store, workspace) = (self.store(), self.world.workspace);
        assert!(
            store
                .opt_out(workspace, &number, ChoiceScope::All, store.now(), harness::operator())
                .await
                .unwrap()
        );
    }

    async fn is_opted_out(&self, number: &str) -> bool {
        let number = Cellphone::parse(&format!("+{number}")).unwrap();
        self.store().opted_out(self.world.workspace, &number).await.unwrap()
    }

    fn counted(&self, name: &str) -> u64 {
        self.counted.values().remove(name).unwrap_or_default().iter().sum()
    }

    fn contact_rows(&self) -> Vec<Value> {
        let rows = self.world.db.rows(Table::Contacts);
        rows.into_iter().filter(|row| row["kind"]["S"] != "inboundLine").collect()
    }
}

#[tokio::test]
async fn a_new_number_is_a_new_version_of_the_contact_that_finds_it() {
    let site = Site::start().await;
    let ana = site.customer(OLD, "US.1").await;
    site.moves(&[&Change { previous_user_id: "US.1", user_id: "US.2", ..NUMBER }]).await;
    assert_eq!(site.ids(&ana).await, (NEW.to_owned(), "US.2".to_owned()));
    assert_eq!(site.contact(&ana).await.version, 2);
    for (number, user_id, holder) in
        [(NEW, "", Some(ana.id)), ("", "US.2", Some(ana.id)), (OLD, "", None), ("", "US.1", None)]
    {
        assert_eq!(site.holder(number, user_id).await, holder, "{number} {user_id}");
    }
    let digits = |row: &Value| row["ph"]["S"].as_str().map(str::to_owned);
    let rows = site.contact_rows();
    assert!(rows.iter().filter_map(digits).all(|digits| digits == NEW), "the searches find the new number");
    // The change is an event: its stream record has a new version.
    let stream = site.world.db.stream(Table::Contacts);
    let last = stream["Records"].as_array().unwrap().iter().rev();
    let image = last
        .map(|record| record["dynamodb"]["NewImage"].clone())
        .find(|image| image["kind"]["S"] == "contact");
    let image = Image::read(serde_json::from_value(image.unwrap()).unwrap()).unwrap();
    assert_eq!(image, Some(Image::Contact(site.contact(&ana).await)));
    assert_eq!(site.counted("InboxItemsProcessed"), 1);
}

#[tokio::test]
async fn a_repeated_change_changes_nothing_and_an_older_one_does_not_undo_a_newer_one() {
    let site = Site::start().await;
    let ana = site.customer(OLD, "").await;
    let second = Change { from: NEW, to: "14155550777", at: 60, ..NUMBER };
    // The customer moves back to the first number.
    let back = Change { from: "14155550777", to: OLD, at: 120, ..NUMBER };
    site.moves(&[&NUMBER, &NUMBER, &second]).await;
    assert_eq!(site.ids(&ana).await.0, "14155550777");
    site.moves(&[&NUMBER]).await;
    assert_eq!(site.ids(&ana).await.0, "14155550777");
    site.moves(&[&back]).await;
    let before = site.contact_rows();
    for repeated in [&NUMBER, &second, &back] {
        site.moves(&[repeated]).await;
        assert_eq!(site.contact_rows(), before, "to {}", repeated.to);
    }
    assert_eq!((site.ids(&ana).await.0.as_str(), site.contact(&ana).await.version), (OLD, 4));
}

#[tokio::test]
async fn a_new_user_id_is_found_and_is_no_new_version() {
    let site = Site::start().await;
    let ana = site.customer("", "US.1").await;
    let change = Change { from: "", to: "", previous_user_id: "US.1", user_id: "US.2", at: 0 };
    site.moves(&[&change, &change]).await;
    assert_eq!((site.holder("", "US.2").await, site.holder("", "US.1").await), (Some(ana.id), None));
    assert_eq!(site.contact(&ana).await.version, 1);
}

#[tokio::test]
async fn a_number_of_another_contact_is_counted_and_changes_nothing() {
    let site = Site::start().await;
    let ana = site.customer(OLD, "US.1").await;
    let bob = site.customer(NEW, "").await;
    site.opts_out(OLD).await;
    let before = site.contact_rows();
    site.moves(&[&NUMBER, &NUMBER]).await;
    let (told, after): (Vec<_>, Vec<_>) =
        site.contact_rows().into_iter().partition(|row| row["kind"]["S"] == "contactConflict");
    assert_eq!(after, before);
    let [told] = &told[..] else { panic!("told once: {told:?}") };
    assert!(told["pk"]["S"].as_str().unwrap().ends_with(&ana.id.to_string()));
    assert_eq!(told["sk"]["S"], format!("X#MOVE_TO_NUMBER_OF_ANOTHER#{}", bob.id));
    assert!(!site.is_opted_out(NEW).await, "it is another person's number");
    assert_eq!((site.counted("InboxMovesRefused"), site.counted("InboxItemsDropped")), (2, 2));
}

#[tokio::test]
async fn an_opt_out_of_the_old_number_holds_for_the_new_one() {
    let site = Site::start().await;
    let other = Change { from: "14155550777", to: "14155550778", ..NUMBER };
    site.customer(OLD, "").await;
    site.customer(other.from, "").await;
    site.opts_out(OLD).await;
    site.moves(&[&NUMBER]).await;
    assert!(site.is_opted_out(NEW).await && site.is_opted_out(OLD).await);
    // Without an opt-out nothing follows.
    site.moves(&[&other]).await;
    assert!(!site.is_opted_out(other.to).await);
}

#[tokio::test]
async fn an_opt_out_holds_for_a_new_user_id_with_and_without_a_new_number() {
    for number in [OLD, ""] {
        let site = Site::start().await;
        let ana = site.customer(number, "US.1").await;
        let user = |id: &str| ProviderUserId::parse(id).unwrap();
        let chosen = Chosen {
            choice: Choice::Out,
            scopes: [ChoiceScope::All].into(),
            source: ChoiceSource::Keyword,
            at: TestClock::START,
        };
        let workspace = site.world.workspace;
        assert!(site.store().choose(workspace, &[Chooser::from(&user("US.1"))], &chosen).await.unwrap());
        let to = if number.is_empty() { "" } else { NEW };
        let change = Change { from: number, to, previous_user_id: "US.1", user_id: "US.2", at: 0 };
        site.moves(&[&change]).await;
        assert_eq!(site.ids(&ana).await, (to.to_owned(), "US.2".to_owned()));
        assert!(site.store().opted_out(workspace, &user("US.2")).await.unwrap(), "{number}");
        assert!(number.is_empty() || site.is_opted_out(NEW).await);
        let rows = site.world.db.rows(Table::Leads).into_iter();
        let told = rows.filter(|row| {
            row["kind"]["S"] == "optOut" && row["scopes"]["L"][0]["M"]["isBeside"]["BOOL"] != true
        });
        assert_eq!(told.count(), 1, "the first one made the event");
    }
}

#[tokio::test]
async fn a_contact_that_was_made_after_the_move_is_another_customer() {
    let site = Site::start().await;
    site.world.db.clock().advance(2 * DAY);
    let eva = site.customer(OLD, "").await;
    site.moves(&[&NUMBER]).await;
    assert_eq!(site.ids(&eva).await.0, OLD, "the number was given to somebody else");
    assert_eq!(site.counted("InboxItemsDropped"), 1);
    // A user id is never given to somebody else.
    let bob = site.customer("14155550777", "US.1").await;
    let change = Change { from: "14155550777", to: "14155550778", previous_user_id: "US.1", ..NUMBER };
    site.moves(&[&change]).await;
    assert_eq!(site.ids(&bob).await.0, "14155550778");
}

#[tokio::test]
async fn a_contact_that_was_made_after_the_move_for_the_new_number_gives_the_old_one_up() {
    let site = Site::start().await;
    site.world.db.clock().advance(2 * DAY);
    // The earlier contact of the customer became part of it, with the old number.
    let change = |contact: &mut Contact| {
        contact.cellphone = Cellphone::parse(&format!("+{NEW}")).ok();
        contact.wa_id = WaId::parse(OLD).ok();
        contact.user_ids = World::user_ids("US.2");
    };
    let ana = site.world.contact(change).await;
    assert_eq!(site.holder(OLD, "").await, Some(ana.id));
    site.moves(&[&Change { previous_user_id: "US.1", user_id: "US.2", ..NUMBER }]).await;
    assert_eq!(site.ids(&ana).await, (NEW.to_owned(), "US.2".to_owned()));
    assert_eq!((site.contact(&ana).await.wa_id, site.holder(OLD, "").await), (None, None));
}

#[tokio::test]
async fn a_move_of_the_future_does_not_shut_out_later_ones() {
    let site = Site::start().await;
    let ana = site.customer(OLD, "").await;
    let year = 365 * 24 * 60 * 60;
    site.moves(&[&Change { at: year, ..NUMBER }]).await;
    assert_eq!(site.contact(&ana).await.moved_at, Some(site.store().now()));
    site.world.db.clock().advance(DAY);
    let next = Change { from: NEW, to: "14155550777", at: 2 * 24 * 60 * 60 - 60, ..NUMBER };
    site.moves(&[&next]).await;
    assert_eq!(site.ids(&ana).await.0, "14155550777");
}

#[tokio::test]
async fn an_unknown_old_number_and_a_malformed_new_one_change_nothing() {
    let site = Site::start().await;
    site.customer(OLD, "").await;
    let before = site.contact_rows();
    site.moves(&[
        &Change { from: "14155550777", ..NUMBER },
        &Change { to: "not a number", ..NUMBER },
        &Change { to: "123", ..NUMBER },
    ])
    .await;
    assert_eq!(site.contact_rows(), before);
}

#[tokio::test]
async fn a_change_that_cannot_be_written_is_delivered_again_and_takes_five_round_trips() {
    let site = Site::start().await;
    let ana = site.customer(OLD, "").await;
    site.world.db.fail("TransactWriteItems", Fault::Unreachable, 3);
    assert_eq!(site.told(&[&NUMBER]).await, ["0"]);
    assert_eq!(site.ids(&ana).await.0, OLD);
    site.world.db.heal();
    site.world.db.forget_calls();
    site.moves(&[&NUMBER]).await;
    let calls = site.world.db.calls();
    assert_eq!(site.ids(&ana).await.0, NEW);
    assert_eq!(trips(&calls), 5, "claim, look-up, contact, opt-outs, transaction");
}

#[tokio::test]
async fn a_line_is_noted_once_a_day_as_delivering_customers_messages() {
    let site = Site::start().await;
    let line = ChannelId::parse(LINE).unwrap();
    // Each time another process, which remembers nothing.
    let since = async || {
        let store = site.world.db.store_of("message-sender");
        store.line_delivers_inbound_since(site.world.workspace, &line).await.unwrap()
    };
    let status = json!({ "id": "wamid.1", "status": "sent", "timestamp": "1767323045", "recipient_id": OLD });
    site.process(&[site.piece(LINE, "statuses", &[status])]).await;
    assert_eq!(since().await, None, "a status is no customer's message");
    site.moves(&[&NUMBER]).await;
    assert_eq!(since().await, Some(site.store().now()));

    let clock = site.world.db.clock();
    clock.advance(Duration::from_secs(3_600));
    site.world.db.forget_calls();
    site.moves(&[&NUMBER]).await;
    let writes = site.world.db.calls().into_iter().filter(|call| call.write_units > 0.0).count();
    assert_eq!(writes, 0, "another message of the day");
}

#[tokio::test]
async fn a_line_that_comes_to_a_workspace_has_not_delivered_there_before() {
    let site = Site::start().await;
    let (workspace, line) = (site.world.workspace, ChannelId::parse("2045551234567").unwrap());
    // A process that still remembers an earlier claim notes a message after the line has left.
    let store = site.store();
    store.note_inbound(workspace, &line, store.now()).await;
    site.world.line(line.as_str(), |_| ()).await;
    let sender = site.world.db.store_of("message-sender");
    assert_eq!(sender.line_delivers_inbound_since(workspace, &line).await.unwrap(), None);
}

#[tokio::test]
async fn a_move_waits_until_the_contact_that_came_with_it_is_merged() {
    for user_id in ["", "US.2"] {
        let site = Site::start().await;
        let ana = site.customer(OLD, "US.1").await;
        // The customer writes with the new ids before the move is processed.
        if user_id.is_empty() {
            site.world.db.clock().advance(DAY);
        }
        let new = site.customer(if user_id.is_empty() { NEW } else { "" }, user_id).await;
        let change = Change { user_id, ..NUMBER };
        site.moves(&[&change]).await;
        let [merge] = &site.world.db.rows_of(Table::Contacts, "merge")[..] else { panic!("one merge") };
        let ids = [&merge["survivor"], &merge["merged"]].map(|id| id["S"].as_str().unwrap().to_owned());
        assert_eq!(ids, [new.id.to_string(), ana.id.to_string()]);
        let queued = site.queued();
        assert_eq!(queued.iter().map(|(_, delay)| *delay).collect::<Vec<_>>(), [5]);
        // If the merge does not come, the tenant is told.
        site.world.db.clock().advance(Duration::from_secs(15 * 60));
        assert_eq!(site.process(&[queued[0].0.clone()]).await, Vec::<String>::new());
        assert_eq!(site.store().conflicts(ana.workspace_id, ana.id).await.unwrap().len(), 1);
        assert_eq!((site.counted("InboxMovesRefused"), site.queued().len()), (1, 0));
    }
}
