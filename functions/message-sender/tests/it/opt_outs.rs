//! Numbers that opted out get no templates.

use domain::settings::template::{Parameters, Requested};
use domain::{
    Cellphone, ChannelId, ChoiceScope, Contact, ConversationId, LaneKind, MessageId, MessageStatus,
    TemplateCategory,
};
use harness::{Fault, trips};
use provider::CallOutcome;
use store::Table;

use crate::{CONVERSATION, LINE, Sender, failed, sent};

impl Sender {
    async fn opt_out(&self, cellphone: &str) {
        self.opt_out_of(cellphone, ChoiceScope::All).await;
    }

    async fn opt_out_of(&self, cellphone: &str, scope: ChoiceScope) {
        let cellphone = Cellphone::parse(cellphone).unwrap();
        let now = self.store().now();
        assert!(
            self.store()
                .opt_out(self.world.workspace, &cellphone, scope, now, harness::operator())
                .await
                .unwrap()
        );
    }

    /// A conversation of these customers with this number of onboarding templates.
    async fn onboarding(&self, customers: &[&Contact], steps: usize) -> domain::Conversation {
        self.onboarding_of(customers, steps, None).await
    }

    /// The same with templates of this category.
    async fn onboarding_of(
        &self,
        customers: &[&Contact],
        steps: usize,
        category: Option<TemplateCategory>,
    ) -> domain::Conversation {
        let template = self.world.template(|template| {
            template.set_variables(vec![]);
            template.category = category;
        });
        let template = template.await;
        let step = Requested { template: template.id, parameters: Parameters::default() };
        let id = ConversationId::parse(CONVERSATION).unwrap();
        self.conversation_with(id, customers, &vec![step; steps]).await
    }

    /// The states of the parts of all messages, in the order of their numbers.
    async fn all_parts(&self) -> Vec<(MessageStatus, Option<String>)> {
        let mut messages = vec![];
        for row in self.world.db.rows_from(Table::Messages, "M#") {
            let id = row["sk"]["S"].as_str().unwrap().trim_start_matches("M#");
            messages.push(self.message(MessageId::parse(id).unwrap()).await);
        }
        messages.sort_by_key(|message| message.seq);
        let parts = messages.into_iter().flat_map(|message| message.parts);
        parts.map(|part| (part.status, part.error.map(|error| error.as_str().to_owned()))).collect()
    }

    fn reads_of_opt_outs(&self) -> usize {
        let reads = |call: &&harness::Call| call.operation == "GetItem" && call.table.ends_with("leads");
        self.world.db.calls().iter().filter(reads).count()
    }
}

const ONE: &str = "+12025550101";
const OTHER: &str = "+12025550102";

#[tokio::test]
async fn onboarding_templates_to_an_opted_out_number_fail_and_those_to_others_are_sent() {
    let sender = Sender::start().await;
    let (one, other) = (sender.customer(ONE).await, sender.customer(OTHER).await);
    sender.onboarding(&[&one, &other], 2).await;
    sender.opt_out(ONE).await;
    sender.wake().await;
    let each = [failed("OPTED_OUT"), sent(1).remove(0)];
    assert_eq!(sender.all_parts().await, [each.clone(), each].concat());
    let to: Vec<String> = sender.provider.calls().into_iter().map(|call| call.to).collect();
    assert_eq!(to, [OTHER, OTHER]);
    sender.assert_idle(2);
}

#[tokio::test]
async fn an_opt_out_of_marketing_stops_only_templates_that_advertise() {
    use TemplateCategory::{Authentication, Marketing, Utility};
    let of = |id: &str| ChoiceScope::Line(ChannelId::parse(id).unwrap());
    for scope in [ChoiceScope::Marketing, of(LINE), of("another line")] {
        for category in [Some(Utility), Some(Authentication), Some(Marketing), None] {
            let sender = Sender::start().await;
            let one = sender.customer(ONE).await;
            sender.onboarding_of(&[&one], 1, category).await;
            sender.opt_out_of(ONE, scope.clone()).await;
            sender.wake().await;
            let is_marketing = category.is_none_or(|category| category == Marketing);
            let expected = match is_marketing && scope != of("another line") {
                true => vec![failed("OPTED_OUT_MARKETING")],
                false => sent(1),
            };
            assert_eq!(sender.all_parts().await, expected, "{scope:?} {category:?}");
        }
    }
}

#[tokio::test]
async fn an_opt_out_holds_for_each_written_form_of_a_number() {
    for forms in [
        ["+525512345678", "+5215512345678"],
        ["+541112345678", "+5491112345678"],
        ["+551187654321", "+5511987654321"],
        ["+22997123456", "+2290197123456"],
    ] {
        for (opted_out, dialled) in [(forms[0], forms[1]), (forms[1], forms[0])] {
            let sender = Sender::start().await;
            let one = sender.customer(dialled).await;
            sender.onboarding(&[&one], 1).await;
            sender.opt_out(opted_out).await;
            sender.wake().await;
            assert_eq!(sender.all_parts().await, [failed("OPTED_OUT")], "{opted_out} {dialled}");
        }
    }
}

#[tokio::test]
async fn an_agents_message_to_an_opted_out_number_is_sent() {
    let sender = Sender::start().await;
    let one = sender.customer(ONE).await;
    let conversation = sender.onboarding(&[&one], 1).await;
    sender.opt_out(ONE).await;
    let said = sender.say(&conversation, "hello").await;
    sender.world.db.forget_calls();
    sender.wake().await;
    assert_eq!(
        (sender.all_parts().await, sender.parts(said).await),
        (vec![failed("OPTED_OUT"), sent(1).remove(0)], sent(1))
    );
    assert_eq!(sender.reads_of_opt_outs(), 1, "a text needs no look at the opt-outs");
}

#[tokio::test]
async fn an_opt_out_during_the_retries_of_a_template_counts() {
    let sender = Sender::start().await;
    let one = sender.customer(ONE).await;
    sender.onboarding(&[&one], 1).await;
    sender.provider.ends(CallOutcome::Answered { status: 500, code: Some(131_000) });
    sender.wake().await;
    assert_eq!(sender.all_parts().await[0].0, MessageStatus::Sending);
    sender.opt_out(ONE).await;
    sender.world.db.clock().advance(std::time::Duration::from_secs(60));
    sender.wake().await;
    assert_eq!(sender.all_parts().await, [failed("OPTED_OUT")]);
    assert_eq!(sender.provider.calls().len(), 1);
    assert_eq!(sender.world.db.due(LaneKind::Conversation).await.len(), 0);
}

#[tokio::test]
async fn the_opt_out_is_read_in_the_round_trip_that_reads_what_a_step_needs() {
    let sender = Sender::start().await;
    let one = sender.customer(ONE).await;
    sender.onboarding(&[&one], 2).await;
    // A process reads the person key once in five minutes.
    sender.engine.store.person_key().await.unwrap();
    sender.world.db.forget_calls();
    sender.wake().await;
    let calls = sender.world.db.calls();
    assert_eq!((sender.reads_of_opt_outs(), sender.all_parts().await), (2, sent(2)));
    assert_eq!(
        trips(&calls),
        3 + 2 * 4,
        "lease, plan, release; for each step: its message, data, start, outcome"
    );
}

#[tokio::test]
async fn an_opt_out_counts_also_if_the_number_was_not_known_before() {
    // The first read of the contact, beside the step's message, fails: the number is not known before.
    let sender = Sender::start().await;
    let one = sender.customer(ONE).await;
    sender.onboarding(&[&one], 1).await;
    sender.opt_out(ONE).await;
    sender.world.db.fail("GetItem", Fault::Unreachable, 3);
    sender.wake().await;
    assert_eq!(sender.all_parts().await, [failed("OPTED_OUT")]);
    assert!(sender.provider.calls().is_empty());
}

/// Whether the call of the only message was begun.
fn is_begun(sender: &Sender) -> bool {
    let rows = sender.world.db.rows_from(Table::Messages, "M#");
    let begun = |row: &serde_json::Value| {
        row["progress"]["M"]["calling"]["S"].is_string() || row["parts"]["L"][0]["M"]["status"]["S"] == "SENT"
    };
    rows.iter().any(begun)
}

#[tokio::test]
async fn a_choice_before_the_begin_stops_the_call() {
    let dry = Sender::start().await;
    let one = dry.customer(ONE).await;
    dry.onboarding(&[&one], 1).await;
    dry.world.db.forget_calls();
    dry.wake().await;
    // Reads are made together. The writes are the steps, one after another.
    let writes = dry.world.db.calls().into_iter().filter(|call| call.write_units > 0.0);
    let operations: Vec<String> = writes.map(|call| call.operation).collect();
    let mut stopped = 0;
    for (n, operation) in operations.iter().enumerate() {
        let nth = operations[..=n].iter().filter(|of| *of == operation).count();
        let sender = Sender::start().await;
        let one = sender.customer(ONE).await;
        sender.onboarding(&[&one], 1).await;
        let meanwhile = async {
            let held = sender.world.db.hold_nth(operation, nth).await;
            sender.opt_out(ONE).await;
            let is_begun = is_begun(&sender);
            drop(held);
            is_begun
        };
        // The hold is there before the first call.
        let (is_begun, ()) = tokio::join!(meanwhile, sender.wake());
        let expected = if is_begun { sent(1) } else { vec![failed("OPTED_OUT")] };
        assert_eq!(sender.all_parts().await, expected, "{operation} {nth}");
        assert_eq!(sender.provider.calls().len(), usize::from(is_begun), "{operation} {nth}");
        stopped += usize::from(!is_begun);
    }
    assert!(stopped > 2 && stopped < operations.len(), "{stopped} of {operations:?}");
}

#[tokio::test]
async fn a_wrong_person_key_stops_templates_and_texts_go_on() {
    const PK: &str = "00000000-0000-0000-0000-000000000000#HK";
    let with_key = |sender: &Sender, byte: &str| {
        let hex = byte.repeat(32);
        sender.world.db.change_row(Table::Secrets, PK, "K", |row| row["hex"]["S"] = hex.into());
    };
    let sender = Sender::start().await;
    let one = sender.customer(ONE).await;
    sender.onboarding(&[&one], 1).await;
    with_key(&sender, "02");
    sender.wake().await;
    assert_eq!((sender.all_parts().await[0].0, sender.provider.calls().len()), (MessageStatus::Sending, 0));
    with_key(&sender, "09");
    sender.world.db.clock().advance(std::time::Duration::from_secs(60));
    sender.wake().await;
    assert_eq!(sender.all_parts().await, sent(1));

    let sender = Sender::start().await;
    let one = sender.customer(ONE).await;
    let conversation = sender.conversation(&[&one]).await;
    sender.say(&conversation, "hello").await;
    with_key(&sender, "02");
    sender.wake().await;
    assert_eq!(sender.all_parts().await, sent(1));
}

#[tokio::test]
async fn a_template_begins_at_four_write_units_and_a_text_at_one() {
    let of_begin = async |template: bool| {
        let sender = Sender::start().await;
        let one = sender.customer(ONE).await;
        let steps = usize::from(template);
        let conversation = sender.onboarding(&[&one], steps).await;
        if !template {
            sender.say(&conversation, "hello").await;
        }
        sender.world.db.forget_calls();
        sender.wake().await;
        let calls = sender.world.db.calls();
        let leads = calls.iter().filter(|call| call.table.contains("leads") && call.write_units > 0.0);
        (leads.map(|call| call.write_units).sum::<f64>(), sender.all_parts().await)
    };
    assert_eq!(of_begin(true).await, (4.0, sent(1)), "the message, and the check of the choices");
    assert_eq!(of_begin(false).await, (0.0, sent(1)));
}
