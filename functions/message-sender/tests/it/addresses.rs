//! Sends to numbers and user ids, and the ids that the provider names in its answers.

use domain::contact::conflict::{Conflict, ConflictReason};
use domain::settings::template::{Parameters, Requested};
use domain::{Cellphone, Contact, ConversationId, Reached};
use harness::{Fault, Reaction, World, trips};
use store::Table;

use crate::{CONVERSATION, Sender, failed, sent};

const NUMBER: &str = "+5511987654321";

fn reached(wa_id: &str, user_id: &str) -> Reached {
    Reached::named(Some(wa_id), Some(user_id))
}

impl Sender {
    /// A customer whose number is not known.
    async fn hidden(&self, user_id: &str) -> Contact {
        self.world.contact(|contact| contact.user_ids = World::user_ids(user_id)).await
    }

    async fn contact(&self, of: &Contact) -> Contact {
        self.store().contact(of.workspace_id, of.id).await.unwrap().unwrap()
    }

    async fn holder(&self, at: &Reached) -> Option<domain::ContactId> {
        self.store().contact_reached_at(self.world.workspace, at).await.unwrap()
    }

    fn writes_of_contacts(&self) -> usize {
        let calls = self.world.db.calls();
        let is_write = |name: &str| !name.starts_with("Get") && !name.starts_with("BatchGet");
        calls.iter().filter(|call| call.table.ends_with("contacts") && is_write(&call.operation)).count()
    }
}

#[tokio::test]
async fn a_customer_without_a_number_gets_texts_and_templates_by_the_user_id() {
    let sender = Sender::start().await;
    let (ana, nobody) = (sender.hidden("US.1").await, sender.world.contact(|_| ()).await);
    let template = sender.world.template(|template| template.set_variables(vec![])).await;
    let step = Requested { template: template.id, parameters: Parameters::default() };
    let id = ConversationId::parse(CONVERSATION).unwrap();
    let conversation = sender.conversation_with(id, &[&ana, &nobody], &[step]).await;
    let said = sender.say(&conversation, "hello").await;
    sender.wake().await;
    assert_eq!(sender.parts(said).await, [sent(1).remove(0), failed("NO_ADDRESS")]);
    assert_eq!(sender.provider.numbers(), ["US.1", "US.1"]);
    sender.assert_idle(2);
}

#[tokio::test]
async fn a_customer_with_a_number_and_a_user_id_gets_messages_by_the_number() {
    let sender = Sender::start().await;
    let ana = sender.customer(NUMBER).await;
    sender.store().remember_answer(&ana, &reached("", "BR.1"), &World::account()).await;
    let conversation = sender.conversation(&[&ana]).await;
    sender.say(&conversation, "hello").await;
    sender.wake().await;
    assert_eq!(sender.provider.numbers(), [NUMBER]);
}

#[tokio::test]
async fn ids_that_differ_are_remembered_beside_the_record_of_the_outcome() {
    let sender = Sender::start().await;
    let ana = sender.customer(NUMBER).await;
    let conversation = sender.conversation(&[&ana]).await;
    let other_id = reached("551150000000", "BR.1");
    // The provider names the dialled number, then other ids, a newer user id, and the same ids again.
    let answers =
        [reached("5511987654321", ""), reached("551150000000", "BR.0"), other_id.clone(), other_id.clone()];
    let mut seen = vec![];
    sender.engine.store.person_key().await.unwrap();
    for (at, answer) in answers.into_iter().enumerate() {
        sender.provider.then(Reaction::Reaches(answer));
        let said = sender.say(&conversation, &format!("hello {at}")).await;
        sender.world.db.forget_calls();
        sender.wake().await;
        assert_eq!(sender.parts(said).await, sent(1));
        seen.push((trips(&sender.world.db.calls()), !sender.contact(&ana).await.user_ids.is_empty()));
    }
    let round_trips = seen[0].0;
    // An id that is learnt brings its choices along: they are read before the contact changes.
    let learns = round_trips + 1;
    assert_eq!(seen, [(round_trips, false), (learns, true), (learns, true), (round_trips, true)]);
    let known = sender.contact(&ana).await;
    let expected = Contact {
        wa_id: other_id.wa_id.clone(),
        user_ids: World::user_ids("BR.1"),
        moved_at: known.moved_at,
        ..ana.clone()
    };
    let told = sender.store().conflicts(ana.workspace_id, ana.id).await.unwrap();
    let of = |conflict: &Conflict| (conflict.reason, Some(conflict.at));
    assert_eq!(told.iter().map(of).collect::<Vec<_>>(), [(ConflictReason::UserIdChanged, known.moved_at)]);
    assert_eq!(known, expected, "the version stays");
    // A reply under each form of the two numbers finds the contact.
    for (wa_id, user_id) in [("551150000000", ""), ("551187654321", ""), ("5511987654321", ""), ("", "BR.1")]
    {
        assert_eq!(sender.holder(&reached(wa_id, user_id)).await, Some(ana.id));
    }
    assert_eq!(sender.holder(&reached("", "BR.0")).await, None);
}

#[tokio::test]
async fn a_customer_without_a_number_gets_the_one_that_an_answer_names() {
    let sender = Sender::start().await;
    let ana = sender.hidden("BR.1").await;
    let conversation = sender.conversation(&[&ana]).await;
    for number in ["551187654321", "5511987654321"] {
        sender.provider.then(Reaction::Reaches(reached(number, "BR.1")));
        sender.say(&conversation, number).await;
        sender.wake().await;
        let known = sender.contact(&ana).await;
        assert_eq!((known.cellphone, known.version), (Cellphone::parse("+551187654321").ok(), 2));
        assert_eq!((known.wa_id, known.user_ids), (None, World::user_ids("BR.1")));
    }
    assert_eq!(sender.provider.numbers(), ["BR.1", "+551187654321"]);
}

#[tokio::test]
async fn an_answer_that_names_another_user_than_the_dialled_one_is_told_and_merges_nobody() {
    let sender = Sender::start().await;
    let (ana, bob) = (sender.customer(NUMBER).await, sender.hidden("BR.1").await);
    sender.store().remember_answer(&ana, &reached("", "BR.2"), &World::account()).await;
    let conversation = sender.conversation(&[&ana]).await;
    sender.engine.store.person_key().await.unwrap();
    let mut writes = vec![];
    for text in ["hello", "again"] {
        sender.provider.then(Reaction::Reaches(reached("", "BR.1")));
        sender.say(&conversation, text).await;
        sender.world.db.forget_calls();
        sender.wake().await;
        let calls = sender.world.db.calls();
        let of_contacts = calls.iter().filter(|call| call.table.contains("contacts"));
        writes.push(of_contacts.map(|call| call.write_units).sum::<f64>());
    }
    assert_eq!(writes, [1.0, 0.0], "what would be refused is not tried");
    let told = sender.store().conflicts(ana.workspace_id, bob.id).await.unwrap();
    let of = |conflict: &Conflict| (conflict.reason, conflict.other);
    assert_eq!(told.iter().map(of).collect::<Vec<_>>(), [(ConflictReason::NumberOfAnother, Some(ana.id))]);
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "merge"), Vec::<serde_json::Value>::new());
    assert_eq!(sender.contact(&ana).await.user_ids, World::user_ids("BR.2"));
}

#[tokio::test]
async fn an_answer_with_nothing_new_writes_nothing_to_the_contact() {
    let sender = Sender::start().await;
    let ana = sender.customer(NUMBER).await;
    let conversation = sender.conversation(&[&ana]).await;
    let rows = sender.world.db.rows(Table::Contacts);
    sender.provider.then(Reaction::Reaches(reached("5511987654321", "")));
    sender.say(&conversation, "hello").await;
    sender.world.db.forget_calls();
    sender.wake().await;
    assert_eq!((sender.writes_of_contacts(), sender.world.db.rows(Table::Contacts)), (0, rows));
}

#[tokio::test]
async fn ids_that_cannot_be_remembered_do_not_change_the_outcome() {
    let sender = Sender::start().await;
    let (ana, bob) = (sender.customer(NUMBER).await, sender.hidden("BR.1").await);
    let conversation = sender.conversation(&[&ana]).await;
    sender.provider.then(Reaction::Reaches(reached("", "BR.1")));
    let taken = sender.say(&conversation, "hello").await;
    sender.wake().await;
    assert_eq!(sender.parts(taken).await, sent(1));
    // The provider has proved that both are one person.
    let [merge] = &sender.world.db.rows_of(Table::Contacts, "merge")[..] else { panic!("one merge") };
    let ids = [&merge["survivor"], &merge["merged"]].map(|id| id["S"].as_str().unwrap().to_owned());
    assert_eq!(ids, [ana.id.to_string(), bob.id.to_string()]);
    assert_eq!((sender.contact(&ana).await, sender.holder(&reached("", "BR.1")).await), (ana, Some(bob.id)));

    sender.provider.then(Reaction::Reaches(reached("", "BR.2")));
    let failing = sender.say(&conversation, "again").await;
    sender.world.db.fail("TransactWriteItems", Fault::Unreachable, 3);
    sender.wake().await;
    assert_eq!(sender.parts(failing).await, sent(1));
}
