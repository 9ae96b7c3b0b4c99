//! Customers whose numbers and user ids the provider names by and by.

use std::time::Duration;

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::message::Content;
use domain::{
    BusinessAccountId, Cellphone, Contact, ContactId, ConversationId, Message, ProviderUserId, Reached,
    UserIds,
};
use harness::{OptedOut, TestClock, World, trips};
use queue::Inbound;
use serde_json::json;
use store::{Image, Table};

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";
/// A line of another portfolio.
const OTHER_LINE: &str = "2045551234567";
const OTHER_ACCOUNT: &str = "3055500001";

impl Site {
    /// A message of the customer with this number and this user id on a line; empty texts are absent. It is a second later
    /// than the one before.
    fn said(&self, id: &str, line: &str, number: &str, user: &str) -> Inbound {
        self.world.db.clock().advance(Duration::from_secs(1));
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let message = json!({
            "id": id, "from": some(number), "from_user_id": some(user), "type": "text", "text": { "body": id },
            "timestamp": self.store().now().as_seconds().to_string(),
        });
        self.piece(line, "messages", &[message])
    }

    async fn hears_of(&self, id: &str, line: &str, number: &str, user: &str) {
        assert_eq!(self.process(&[self.said(id, line, number, user)]).await, Vec::<String>::new());
    }

    async fn people(&self) -> Vec<Contact> {
        let mut people = vec![];
        for row in self.world.db.rows_of(Table::Contacts, "contact") {
            let id = row["pk"]["S"].as_str().unwrap().rsplit_once('#').unwrap().1.to_owned();
            let id = ContactId::parse(&id).unwrap();
            people.extend(self.store().contact(self.world.workspace, id).await.unwrap());
        }
        people.sort_by_key(|contact| (contact.created_at, contact.id));
        people
    }

    async fn only_person(&self) -> Contact {
        let [person] = &self.people().await[..] else { panic!("one contact") };
        person.clone()
    }

    /// The texts of each conversation, in the order in which they are listed.
    async fn talks(&self) -> Vec<Vec<String>> {
        let mut talks = vec![];
        for row in self.world.db.rows_of(Table::Conversations, "conversation") {
            let id = row["pk"]["S"].as_str().unwrap().rsplit_once('#').unwrap().1.to_owned();
            let id = ConversationId::parse(&id).unwrap();
            let messages = self.store().messages_before(self.world.workspace, id, None, 100).await.unwrap();
            let text = |message: &Message| match &message.content {
                Content::Received(received) => received.text().map(str::to_owned),
                _ => None,
            };
            talks.push(messages.iter().rev().filter_map(text).collect());
        }
        talks.sort();
        talks
    }

    /// The function's process knows the person key and the keywords by now.
    async fn is_warm(&self) {
        let store = &self.function.store;
        tokio::try_join!(async { store.person_key().await.map(drop) }, async {
            store.keywords(self.world.workspace).await.map(drop)
        })
        .unwrap();
    }

    async fn holder_of(&self, number: &str) -> Option<ContactId> {
        let number = Cellphone::parse(&format!("+{number}")).unwrap();
        self.store().contact_holding_cellphone(self.world.workspace, &number).await.unwrap()
    }
}

#[tokio::test]
async fn a_customer_first_seen_by_user_id_gets_the_number() {
    let site = Site::start().await;
    let (store, workspace) = (site.store(), site.world.workspace);
    for id in ["wamid.0", "wamid.1"] {
        site.hears_of(id, LINE, "", "ES.7").await;
    }
    let hidden = site.only_person().await;
    assert_eq!((hidden.cellphone.as_ref(), &hidden.user_ids), (None, &World::user_ids("ES.7")));
    let stop = Chosen {
        choice: Choice::Out,
        scopes: [ChoiceScope::All].into(),
        source: ChoiceSource::Keyword,
        at: TestClock::START,
    };
    let user = ProviderUserId::parse("ES.7").unwrap();
    assert!(store.choose(workspace, &[Chooser::from(&user)], &stop).await.unwrap());

    let piece = site.said("wamid.2", LINE, NUMBER, "ES.7");
    site.is_warm().await;
    site.world.db.forget_calls();
    assert_eq!(site.process(&[piece]).await, Vec::<String>::new());
    let calls = site.world.db.calls();
    assert_eq!(trips(&calls), 4, "ids; contact and conversations; choices; transaction: {calls:#?}");

    let number = Cellphone::parse(&format!("+{NUMBER}")).unwrap();
    let known = site.only_person().await;
    let now = store.now();
    let expected = Contact {
        cellphone: Some(number.clone()),
        number_since: Some(now),
        updated_at: now,
        version: 2,
        ..hidden
    };
    assert_eq!(known, expected, "the provider's form of the number, as a new version");
    assert_eq!(site.holder_of(NUMBER).await, Some(known.id));
    assert!(store.opted_out(workspace, &number).await.unwrap(), "the choice holds for the number, too");
    let since = store.tenures(workspace, &number.key()).await.unwrap();
    assert_eq!(since.iter().map(|tenure| (tenure.from, tenure.to)).collect::<Vec<_>>(), [(now, None)]);
    let digits: Vec<_> = site.world.db.rows_of(Table::Contacts, "phone");
    assert!(!digits.is_empty() && digits.iter().all(|row| row["ph"]["S"] == NUMBER), "a search finds it");
    // The change is an event: its stream record has a new version.
    let stream = site.world.db.stream(Table::Contacts);
    let mut images =
        stream["Records"].as_array().unwrap().iter().map(|record| &record["dynamodb"]["NewImage"]);
    let last = images.rfind(|image| image["kind"]["S"] == "contact").unwrap().clone();
    let image = Image::read(serde_json::from_value(last).unwrap()).unwrap();
    assert_eq!(image, Some(Image::Contact(known)));
}

#[tokio::test]
async fn a_hidden_number_then_a_shown_one_ends_in_one_conversation() {
    let site = Site::start().await;
    for (id, number, user) in [
        ("wamid.1", "", "ES.7"),
        ("wamid.2", NUMBER, "ES.7"),
        ("wamid.3", NUMBER, ""),
        ("wamid.4", "", "ES.7"),
    ] {
        site.hears_of(id, LINE, number, user).await;
    }
    assert_eq!(site.talks().await, [["wamid.1", "wamid.2", "wamid.3", "wamid.4"]]);
    assert_eq!(site.only_person().await.version, 2);
    // What has nothing new costs what every text does.
    for (number, user) in [(NUMBER, "ES.7"), (NUMBER, "")] {
        for id in ["first", "second"] {
            let piece = site.said(&format!("wamid.{number}.{user}.{id}"), LINE, number, user);
            site.world.db.forget_calls();
            assert_eq!(site.process(&[piece]).await, Vec::<String>::new());
            let calls = site.world.db.calls();
            let units: f64 = calls.iter().map(|call| call.write_units).sum();
            if id == "second" {
                assert_eq!((trips(&calls), units), (3, 9.0), "{number} {user}: {calls:#?}");
            }
        }
    }
}

#[tokio::test]
async fn lines_of_two_portfolios_keep_both_user_ids() {
    let site = Site::start().await;
    let other = BusinessAccountId::parse(OTHER_ACCOUNT).unwrap();
    site.world.line(OTHER_LINE, |line| line.business_account = other.clone()).await;
    site.hears_of("wamid.1", LINE, NUMBER, "ES.7").await;
    site.hears_of("wamid.2", OTHER_LINE, NUMBER, "ES.8").await;
    let ids = |of: &[(&BusinessAccountId, &str)]| -> UserIds {
        of.iter().map(|(account, id)| ((*account).clone(), ProviderUserId::parse(id).unwrap())).collect()
    };
    let both = ids(&[(&World::account(), "ES.7"), (&other, "ES.8")]);
    assert_eq!(site.only_person().await.user_ids, both);
    // Each line names the customer by its own id.
    site.hears_of("wamid.3", LINE, "", "ES.7").await;
    site.hears_of("wamid.4", OTHER_LINE, "", "ES.8").await;
    assert_eq!(site.talks().await, [["wamid.1", "wamid.3"], ["wamid.2", "wamid.4"]]);
    let only = site.only_person().await;
    assert_eq!((only.user_ids, only.version), (both, 1), "ids alone are no new version");
}

#[tokio::test]
async fn an_id_that_a_known_customer_names_costs_a_round_trip_once() {
    let site = Site::start().await;
    site.hears_of("wamid.0", LINE, NUMBER, "").await;
    site.hears_of("wamid.1", LINE, NUMBER, "").await;
    site.is_warm().await;
    let mut seen = vec![];
    for (id, number, user) in [
        ("wamid.2", NUMBER, "ES.7"),
        ("wamid.3", NUMBER, "ES.7"),
        ("wamid.4", "", "ES.7"),
        ("wamid.5", "34600999888", "ES.7"),
    ] {
        let piece = site.said(id, LINE, number, user);
        site.world.db.forget_calls();
        assert_eq!(site.process(&[piece]).await, Vec::<String>::new());
        let calls = site.world.db.calls();
        seen.push((trips(&calls), calls.iter().map(|call| call.write_units).sum::<f64>()));
    }
    // A user id; nothing new; the row of the id names the conversation from now on; another number under which the provider knows
    // the customer.
    let [(4, id), (3, nothing), (4, 11.0), (4, number)] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(nothing, 9.0);
    assert!((8.0..=16.0).contains(&(id - nothing)) && (8.0..=16.0).contains(&(number - nothing)), "{seen:?}");
    let known = site.only_person().await;
    assert_eq!(known.cellphone, Cellphone::parse(&format!("+{NUMBER}")).ok());
    assert_eq!(site.holder_of("34600999888").await, Some(known.id));
    assert_eq!(site.talks().await, [["wamid.0", "wamid.1", "wamid.2", "wamid.3", "wamid.4", "wamid.5"]]);
}

#[tokio::test]
async fn the_first_message_of_a_customer_costs_more_if_it_names_two_ids() {
    let site = Site::start().await;
    site.hears_of("wamid.0", LINE, "34600999000", "").await;
    site.is_warm().await;
    let mut seen = vec![];
    for (id, number, user) in
        [("wamid.1", NUMBER, ""), ("wamid.2", "", "ES.7"), ("wamid.3", "34600999888", "ES.8")]
    {
        let piece = site.said(id, LINE, number, user);
        site.world.db.forget_calls();
        assert_eq!(site.process(&[piece]).await, Vec::<String>::new());
        let calls = site.world.db.calls();
        seen.push((trips(&calls), calls.iter().map(|call| call.write_units).sum::<f64>()));
    }
    // A number has three rows of the search. The second id has a row of 2 units, and the checks that neither id has chosen are 2 each.
    assert_eq!(seen, [(2, 29.0), (2, 23.0), (3, 35.0)]);
}

#[tokio::test]
async fn a_word_from_before_a_move_gives_no_number_and_no_id_back() {
    let site = Site::start().await;
    let moved = |contact: &mut Contact| {
        contact.user_ids = World::user_ids("ES.7");
        contact.moved_at = Some(TestClock::START.plus(Duration::from_secs(60)));
    };
    let ana = site.world.contact(moved).await;
    site.hears_of("wamid.1", LINE, NUMBER, "ES.7").await;
    assert_eq!(site.only_person().await, ana);
    site.world.db.clock().advance(Duration::from_secs(120));
    site.hears_of("wamid.2", LINE, NUMBER, "ES.7").await;
    assert_eq!(site.only_person().await.cellphone, Cellphone::parse(&format!("+{NUMBER}")).ok());
    let reached = Reached::named(Some(NUMBER), None);
    let found = site.store().contact_reached_at(site.world.workspace, &reached).await.unwrap();
    assert_eq!(found, Some(ana.id));
}

impl Site {
    async fn person(&self, number: &str, user: &str) -> Contact {
        let fill = |contact: &mut Contact| {
            contact.cellphone = Cellphone::parse(&format!("+{number}")).ok();
            contact.user_ids = World::user_ids(user);
        };
        self.world.contact(fill).await
    }

    /// The conflicts of all contacts: the reason, the contact, and the other one.
    fn conflicts(&self) -> Vec<(String, String, Option<String>)> {
        let text = |value: &serde_json::Value| value["S"].as_str().map(str::to_owned);
        let of = |row: &serde_json::Value| {
            let contact = text(&row["pk"]).unwrap().rsplit_once('#').unwrap().1.to_owned();
            (text(&row["reason"]).unwrap(), contact, text(&row["otherContactId"]))
        };
        self.world.db.rows_of(Table::Contacts, "contactConflict").iter().map(of).collect()
    }
}

#[tokio::test]
async fn another_user_id_of_a_number_replaces_the_first_and_is_told() {
    let site = Site::start().await;
    let ana = site.person(NUMBER, "ES.7").await;
    for (id, user) in [("wamid.1", "ES.7"), ("wamid.2", "ES.8"), ("wamid.3", "ES.8")] {
        site.hears_of(id, LINE, NUMBER, user).await;
    }
    let told = ("USER_ID_CHANGED".to_owned(), ana.id.to_string(), None);
    assert_eq!(site.conflicts(), std::slice::from_ref(&told));
    let known = site.only_person().await;
    assert_eq!((&known.user_ids, known.version), (&World::user_ids("ES.8"), 1));
    // A message from before does not bring the first one back, and one from after it is another change.
    let mut late = site.said("wamid.4", LINE, NUMBER, "ES.7");
    late.value["messages"][0]["timestamp"] = json!(TestClock::START.as_seconds().to_string());
    assert_eq!(site.process(&[late]).await, Vec::<String>::new());
    assert_eq!(site.only_person().await.user_ids, World::user_ids("ES.8"));
    site.hears_of("wamid.5", LINE, NUMBER, "ES.9").await;
    assert_eq!(site.conflicts(), [told.clone(), told]);
    assert_eq!(site.talks().await, [["wamid.4", "wamid.1", "wamid.2", "wamid.3", "wamid.5"]]);
}

#[tokio::test]
async fn a_number_of_a_contact_with_another_user_id_is_told_once_and_the_user_gets_the_messages() {
    let site = Site::start().await;
    let (bob, ana) = (site.person(NUMBER, "ES.7").await, site.person("", "ES.8").await);
    site.hears_of("wamid.1", LINE, "", "ES.8").await;
    let mut seen = vec![];
    for id in ["wamid.2", "wamid.3"] {
        let piece = site.said(id, LINE, NUMBER, "ES.8");
        site.world.db.forget_calls();
        assert_eq!(site.process(&[piece]).await, Vec::<String>::new());
        let calls = site.world.db.calls();
        seen.push((trips(&calls), calls.iter().map(|call| call.write_units).sum::<f64>()));
    }
    assert_eq!(seen, [(4, 10.0), (3, 9.0)], "the conflict, once");
    let told = ("NUMBER_OF_ANOTHER".to_owned(), ana.id.to_string(), Some(bob.id.to_string()));
    assert_eq!(site.conflicts(), [told]);
    assert_eq!(site.people().await, [bob.clone(), ana.clone()], "neither changed");
    assert_eq!(site.talks().await, [["wamid.1", "wamid.2", "wamid.3"]]);
    // The tenant takes the number from the other contact, and the next message fills it.
    let freed = Contact { cellphone: None, user_ids: UserIds::default(), version: 2, ..bob.clone() };
    site.store().replace_contact(&bob, &freed, "r").await.unwrap();
    site.hears_of("wamid.4", LINE, NUMBER, "ES.8").await;
    assert_eq!(site.holder_of(NUMBER).await, Some(ana.id));
    assert_eq!(site.conflicts().len(), 1);
}

#[tokio::test]
async fn a_late_word_about_a_number_that_another_contact_moved_to_since_changes_nothing() {
    let site = Site::start().await;
    let moved = |contact: &mut Contact| {
        contact.cellphone = Cellphone::parse(&format!("+{NUMBER}")).ok();
        contact.moved_at = Some(TestClock::START.plus(Duration::from_secs(60)));
    };
    let bob = site.world.contact(moved).await;
    let ana = site.person("", "ES.8").await;
    site.hears_of("wamid.1", LINE, NUMBER, "ES.8").await;
    assert_eq!((site.people().await, site.conflicts()), (vec![bob, ana], vec![]));
    assert_eq!(site.talks().await, [["wamid.1"]]);
}

#[tokio::test]
async fn a_word_that_is_overtaken_by_another_claim_is_judged_again() {
    let site = Site::start().await;
    let ana = site.person("", "ES.8").await;
    let pieces = [site.said("wamid.1", LINE, NUMBER, "ES.8")];
    site.world.db.forget_calls();
    let held = site.world.db.hold("TransactWriteItems");
    let meanwhile = async {
        site.world.db.begun("TransactWriteItems", 1).await;
        site.person(NUMBER, "ES.7").await;
        drop(held);
    };
    let (failed, ()) = tokio::join!(site.process(&pieces), meanwhile);
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(site.conflicts().len(), 1);
    assert_eq!(site.store().contact(site.world.workspace, ana.id).await.unwrap(), Some(ana));
}

#[tokio::test]
async fn two_contacts_of_one_person_are_merged_and_the_message_waits_for_it() {
    let site = Site::start().await;
    let (bob, ana) = (site.person(NUMBER, "").await, site.person("", "ES.8").await);
    let stop = site.said("STOP", LINE, NUMBER, "ES.8");
    site.world.db.forget_calls();
    assert_eq!(site.process(&[stop]).await, Vec::<String>::new());
    let [merge] = &site.world.db.rows_of(Table::Contacts, "merge")[..] else { panic!("one merge") };
    let ids = [&merge["survivor"], &merge["merged"]].map(|id| id["S"].as_str().unwrap().to_owned());
    assert_eq!(ids, [bob.id.to_string(), ana.id.to_string()], "the one with the number stays");
    let queued = site.queued();
    assert_eq!((queued.len(), queued[0].1, site.talks().await.len()), (1, 5, 0));
    // What the customer chose is heard at once, for both.
    let number = Cellphone::parse(&format!("+{NUMBER}")).unwrap();
    assert!(site.store().opted_out(site.world.workspace, &number).await.unwrap());
    // If the merge does not come, the message is the user's, and nobody is told twice.
    site.world.db.clock().advance(Duration::from_secs(15 * 60));
    for _ in 0..2 {
        assert_eq!(site.process(&[queued[0].0.clone()]).await, Vec::<String>::new());
    }
    assert_eq!((site.talks().await, site.queued().len()), (vec![vec!["STOP".to_owned()]], 0));
    assert_eq!((site.conflicts(), site.people().await), (vec![], vec![bob, ana]));
}

#[tokio::test]
async fn a_message_for_a_contact_that_takes_over_another_one_waits() {
    let site = Site::start().await;
    let merging = domain::PersonJobId::parse("00000000-0000-4000-8000-000000000001").ok();
    let number = Cellphone::parse(&format!("+{NUMBER}")).ok();
    site.world.contact(|contact| (contact.cellphone, contact.merging) = (number, merging)).await;
    site.hears_of("wamid.1", LINE, NUMBER, "").await;
    assert_eq!((site.queued().len(), site.talks().await.len()), (1, 0));
}
