//! Templates that the provider does not let the line's account send for now, or at all.

use std::sync::Arc;
use std::time::Duration;

use domain::settings::template::{AccountState, Parameters, Requested, SaidBy};
use domain::{Contact, Conversation, ConversationId, Template, TemplateStatus};
use harness::{ACCEPTED, Death, Reaction, World, answered};
use provider::webhook::TEMPLATE_REFUSED;
use queue::Inbound;
use serde_json::json;

use store::Table;
use tokio::sync::Barrier;

use crate::{CONVERSATION, Sender, failed, sent};

/// The wait between two looks.
const LOOK: Duration = Duration::from_secs(900);
const DAY: Duration = Duration::from_hours(24);

impl Sender {
    /// A template in this status for the line's account.
    async fn template(&self, name: &str, status: TemplateStatus) -> Template {
        let template = self.world.template(|template| {
            template.name = name.to_owned();
            for state in template.states.values_mut() {
                state.status = status;
            }
        });
        template.await
    }

    /// The template gets this status for the line's account.
    async fn becomes(&self, template: &Template, status: TemplateStatus) {
        let now = self.store().now();
        let current = self.store().template(template.scope, template.id).await.unwrap().unwrap();
        let news = AccountState::of(status, now, SaidBy::Provider);
        let next = current.decided(&World::account(), news).unwrap().unwrap();
        assert!(self.store().replace_template(&next).await.unwrap());
    }

    /// A conversation with an onboarding plan of these templates.
    async fn with_plan(&self, customer: &Contact, templates: &[&Template]) -> Conversation {
        let steps: Vec<Requested> = templates.iter().map(|template| requested(template)).collect();
        self.conversation_with(ConversationId::parse(CONVERSATION).unwrap(), &[customer], &steps).await
    }

    /// Advances the clock and runs the function.
    async fn later(&self, by: Duration) {
        self.world.db.clock().advance(by);
        self.wake().await;
    }
}

fn requested(template: &Template) -> Requested {
    Requested { template: template.id, parameters: Parameters::new() }
}

#[tokio::test]
async fn a_paused_template_holds_the_sequence_and_no_text() {
    let sender = Sender::start().await;
    let first = sender.template("first", TemplateStatus::Paused).await;
    let second = sender.template("second", TemplateStatus::Approved).await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.with_plan(&customer, &[&first, &second]).await;
    sender.say(&conversation, "hello").await;
    let third = sender.template("third", TemplateStatus::Approved).await;
    let third = sender.world.template_message(&conversation, requested(&third)).await;
    sender.wake().await;
    assert_eq!(sender.provider.said(), ["hello"]);
    // The first step is a message, the second is still in the plan, and the third waits for both.
    assert_eq!((sender.rows("M#"), sender.rows("P"), sender.rows("Q#")), (3, 1, 2));
    // The release ignores no new work: what an agent writes is sent at once.
    sender.say(&conversation, "are you there?").await;
    sender.wake().await;
    assert_eq!(sender.provider.said(), ["hello", "are you there?"]);
    // A look makes no call and changes no message.
    let messages = sender.world.db.rows_from(Table::Messages, "M#");
    sender.later(LOOK).await;
    assert_eq!(sender.world.db.rows_from(Table::Messages, "M#"), messages);
    sender.becomes(&first, TemplateStatus::Reinstated).await;
    sender.later(LOOK).await;
    assert_eq!(sender.provider.said(), ["hello", "are you there?", "first", "second", "third"]);
    assert_eq!(sender.parts(third.id).await, sent(1));
    sender.sqs.take();
    sender.assert_idle(5);
}

#[tokio::test]
async fn a_waiting_template_is_due_at_its_next_look() {
    let sender = Sender::start().await;
    let template = sender.template("first", TemplateStatus::Pending).await;
    let customer = sender.customer("+12025550101").await;
    sender.with_plan(&customer, &[&template]).await;
    sender.wake().await;
    sender.world.db.clock().advance(LOOK - Duration::from_secs(1));
    assert_eq!(sender.due().await, Vec::<String>::new());
    sender.world.db.clock().advance(Duration::from_secs(150));
    assert_eq!(sender.due().await, [CONVERSATION]);
}

#[tokio::test]
async fn a_template_that_waits_for_a_day_fails_with_its_status() {
    let sender = Sender::start().await;
    let first = sender.template("first", TemplateStatus::InAppeal).await;
    let second = sender.template("second", TemplateStatus::Approved).await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let [first, second] = [&first, &second].map(requested);
    let first = sender.world.template_message(&conversation, first).await;
    let second = sender.world.template_message(&conversation, second).await;
    sender.later(DAY - Duration::from_secs(60)).await;
    assert_eq!((sender.provider.said(), sender.rows("Q#")), (vec![], 2));
    sender.later(Duration::from_secs(60)).await;
    assert_eq!(sender.parts(first.id).await, [failed("NOT_APPROVED")]);
    assert_eq!(sender.message(first.id).await.parts[0].error.as_ref().unwrap().detail(), Some("IN_APPEAL"));
    assert_eq!(sender.parts(second.id).await, sent(1));
}

#[tokio::test]
async fn a_template_that_can_never_be_sent_fails_at_once_and_holds_nothing() {
    let sender = Sender::start().await;
    let rejected = sender.template("first", TemplateStatus::Rejected).await;
    let second = sender.template("second", TemplateStatus::Flagged).await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let first = sender.world.template_message(&conversation, requested(&rejected)).await;
    let second = sender.world.template_message(&conversation, requested(&second)).await;
    sender.wake().await;
    assert_eq!(sender.parts(first.id).await, [failed("NOT_APPROVED")]);
    assert_eq!(sender.parts(second.id).await, sent(1));
    assert_eq!(sender.provider.said(), ["second"]);
}

#[tokio::test]
async fn the_providers_word_that_a_template_is_paused_counts() {
    let sender = Sender::start().await;
    let [first, second] =
        ["first", "second"].map(async |name| sender.template(name, TemplateStatus::Approved).await);
    let (first, second) = (first.await, second.await);
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.with_plan(&customer, &[&first, &second]).await;
    sender.provider.ends(answered(400, 132_015));
    sender.say(&conversation, "hello").await;
    sender.wake().await;
    assert_eq!(sender.provider.said(), ["first", "hello"]);
    // An earlier visit, for a text, makes no call for the template.
    sender.say(&conversation, "again").await;
    sender.later(Duration::from_secs(60)).await;
    assert_eq!(sender.provider.said(), ["first", "hello", "again"]);
    // The next looks call again, until a day has passed since the first call.
    for _ in 0..95 {
        sender.provider.ends(answered(400, 132_015));
        sender.later(LOOK).await;
    }
    assert_eq!(sender.provider.calls().len(), 3 + 95);
    sender.provider.ends(answered(400, 132_015));
    sender.later(LOOK).await;
    let failed = sender.world.db.rows_from(Table::Messages, "M#");
    let failed = failed.iter().filter(|row| format!("{row}").contains("NOT_APPROVED")).count();
    assert_eq!((failed, sender.provider.said().last().map(String::as_str)), (1, Some("second")));
}

#[tokio::test]
async fn more_than_a_page_of_waiting_templates_is_read_once_in_a_visit() {
    let sender = Sender::start().await;
    let template = sender.template("first", TemplateStatus::Paused).await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    for _ in 0..60 {
        sender.world.template_message(&conversation, requested(&template)).await;
    }
    sender.world.db.forget_calls();
    sender.wake().await;
    let queries = sender.world.db.operations().into_iter().filter(|call| call == "Query messages").count();
    assert_eq!((queries, sender.provider.said(), sender.rows("Q#")), (1, vec![], 60));
    sender.becomes(&template, TemplateStatus::Approved).await;
    sender.later(LOOK).await;
    assert_eq!((sender.provider.said().len(), sender.rows("Q#")), (60, 0));
}

#[tokio::test]
async fn a_text_that_is_added_while_a_template_waits_is_sent_by_the_same_visit() {
    let sender = Sender::start().await;
    let template = sender.template("first", TemplateStatus::Paused).await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.with_plan(&customer, &[&template]).await;
    sender.say(&conversation, "hello").await;
    let barrier = Arc::new(Barrier::new(2));
    sender.provider.then(Reaction::Meets(barrier.clone(), ACCEPTED));
    let meanwhile = async {
        barrier.wait().await;
        sender.say(&conversation, "again").await;
        barrier.wait().await;
    };
    tokio::join!(sender.wake(), meanwhile);
    assert_eq!(sender.provider.said(), ["hello", "again"]);
}

#[tokio::test]
async fn a_template_that_the_provider_says_is_another_one_is_asked_for() {
    for code in [132_000, 132_001, 132_012, 132_016, 132_018, 131_008, 132_005] {
        let sender = Sender::start().await;
        let template = sender.template("first", TemplateStatus::Approved).await;
        let customer = sender.customer("+12025550101").await;
        let conversation = sender.conversation(&[&customer]).await;
        let message = sender.world.template_message(&conversation, requested(&template)).await;
        sender.provider.ends(answered(400, code));
        sender.wake().await;
        assert_eq!(sender.parts(message.id).await, [failed(&code.to_string())]);
        let asked = sender.inbox.take();
        if matches!(code, 131_008 | 132_005) {
            assert!(asked.is_empty(), "{code}");
            continue;
        }
        let [piece] = asked.as_slice() else { panic!("{code}: {asked:?}") };
        let piece = Inbound::read(&piece.body).unwrap();
        assert_eq!((piece.account.as_str(), piece.field.as_str()), (World::ACCOUNT, TEMPLATE_REFUSED));
        let named = json!({ "message_template_name": "first", "message_template_language": "es" });
        assert_eq!((piece.value, piece.workspace), (named, None));
    }
}

#[tokio::test]
async fn wherever_a_sender_dies_a_recorded_failure_has_asked_for_its_template() {
    let mut recorded = 0;
    for calls in 0.. {
        let sender = Sender::start().await;
        let template = sender.template("first", TemplateStatus::Approved).await;
        let customer = sender.customer("+12025550101").await;
        let conversation = sender.conversation(&[&customer]).await;
        let message = sender.world.template_message(&conversation, requested(&template)).await;
        sender.provider.ends(answered(400, 132_001));
        let dead = sender.world.db.die_after(calls, Death::After);
        let is_over = tokio::select! {
            () = sender.wake() => true,
            _ = dead => false,
        };
        sender.world.db.revive();
        if sender.parts(message.id).await == [failed("132001")] {
            assert_eq!(sender.inbox.take().len(), 1, "{calls}");
            recorded += 1;
        }
        if is_over {
            break;
        }
    }
    assert!(recorded > 1, "{recorded}");
}

#[tokio::test]
async fn a_text_that_fails_with_the_code_of_a_template_and_a_queue_that_is_down_change_nothing() {
    let sender = Sender::start().await;
    let template = sender.template("first", TemplateStatus::Approved).await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    sender.say(&conversation, "hello").await;
    sender.provider.ends(answered(400, 132_001));
    sender.wake().await;
    assert!(sender.inbox.take().is_empty());
    sender.inbox.close(true);
    let message = sender.world.template_message(&conversation, requested(&template)).await;
    sender.provider.ends(answered(400, 132_001));
    sender.wake().await;
    assert_eq!(sender.parts(message.id).await, [failed("132001")]);
}
