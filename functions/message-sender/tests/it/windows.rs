//! What is written outside the 24 hours after a customer's last message.

use std::time::Duration;

use domain::settings::template::{Parameters, Requested};
use domain::{ChannelId, Contact, ConversationId, Timestamp};
use harness::trips;
use serde_json::json;
use store::Table;

use crate::{CONVERSATION, LINE, Sender, failed, sent};

const NUMBER: &str = "+12025550101";
const HOUR: Duration = Duration::from_secs(3_600);

impl Sender {
    fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// The line delivers a message of another customer.
    async fn delivers(&self) {
        let line = ChannelId::parse(LINE).unwrap();
        self.store().note_inbound(self.world.workspace, &line, self.now()).await;
    }

    /// The customer writes on the line.
    fn writes(&self, contact: &Contact) {
        let text = |text: String| json!({ "S": text });
        self.world.db.put_row(
            Table::Contacts,
            &json!({
                "pk": text(format!("{}#C#{}", contact.workspace_id, contact.id)),
                "sk": text(format!("W#{LINE}")),
                "kind": text("window".to_owned()),
                "conversationId": text("00000000-0000-0000-0000-000000000001".to_owned()),
                "lastInboundAt": text(self.now().to_string()),
            }),
        );
    }

    /// What becomes of a text that is sent now.
    async fn text(&self, conversation: &domain::Conversation) -> (domain::MessageStatus, Option<String>) {
        let said = self.say(conversation, "hello").await;
        self.wake().await;
        self.parts(said).await.remove(0)
    }
}

#[tokio::test]
async fn a_text_that_is_surely_outside_the_window_fails_without_a_call() {
    let sender = Sender::start().await;
    let ana = sender.customer(NUMBER).await;
    let conversation = sender.conversation(&[&ana]).await;
    let clock = sender.world.db.clock();
    sender.delivers().await;
    sender.writes(&ana);
    clock.advance(24 * HOUR);
    assert_eq!(sender.text(&conversation).await, sent(1).remove(0), "the last moment of the window");
    clock.advance(Duration::from_secs(60));
    assert_eq!(sender.text(&conversation).await, sent(1).remove(0), "by another clock");
    clock.advance(Duration::from_secs(1));
    assert_eq!(sender.text(&conversation).await, failed("OUTSIDE_WINDOW"));
    assert_eq!(sender.provider.calls().len(), 2);
    // The customer writes again.
    sender.writes(&ana);
    assert_eq!(sender.text(&conversation).await, sent(1).remove(0));
}

#[tokio::test]
async fn a_text_is_sent_from_a_line_that_may_not_deliver_customers_messages() {
    let sender = Sender::start().await;
    let ana = sender.customer(NUMBER).await;
    let conversation = sender.conversation(&[&ana]).await;
    let clock = sender.world.db.clock();
    clock.advance(48 * HOUR);
    assert_eq!(sender.text(&conversation).await, sent(1).remove(0), "it never delivered one");
    sender.delivers().await;
    clock.advance(23 * HOUR);
    assert_eq!(sender.text(&conversation).await, sent(1).remove(0), "it delivers since less than a day");
    clock.advance(2 * HOUR);
    assert_eq!(sender.text(&conversation).await, failed("OUTSIDE_WINDOW"), "the customer never wrote");
    clock.advance(24 * HOUR);
    assert_eq!(sender.text(&conversation).await, sent(1).remove(0), "it is silent for more than two days");
}

#[tokio::test]
async fn a_template_is_sent_outside_the_window_and_the_window_is_read_beside_the_rest() {
    let sender = Sender::start().await;
    let ana = sender.customer(NUMBER).await;
    let template = sender.world.template(|template| template.set_variables(vec![])).await;
    let step = Requested { template: template.id, parameters: Parameters::default() };
    let id = ConversationId::parse(CONVERSATION).unwrap();
    sender.delivers().await;
    sender.world.db.clock().advance(25 * HOUR);
    let conversation = sender.conversation_with(id, &[&ana], &[step]).await;
    assert_eq!(sender.text(&conversation).await, failed("OUTSIDE_WINDOW"));
    assert_eq!(sender.provider.said(), [template.name]);

    sender.writes(&ana);
    let said = sender.say(&conversation, "hello").await;
    sender.world.db.forget_calls();
    sender.wake().await;
    let calls = sender.world.db.calls();
    assert_eq!(sender.parts(said).await, sent(1));
    assert_eq!(trips(&calls), 3 + 4, "lease, work, release; message, data, start, outcome");
    let of_contacts = calls.iter().filter(|call| call.table.ends_with("contacts")).count();
    assert_eq!(of_contacts, 2, "the contact and its window; the line is remembered");
}
