//! The messages that the function sends to its own queue: as many as the work needs.

use domain::LeadId;
use harness::TestClock;

use crate::{Sender, secs, task};

impl Sender {
    /// The delays of a chain of a day that the message of the lead starts.
    async fn chain(&self, lead: LeadId) -> Vec<u64> {
        let invoke = async |body: String| assert_eq!(self.run(&[body]).await, Vec::<String>::new());
        let until = self.store().now().plus(secs(86_400));
        self.sqs.chain(self.world.db.clock(), until, task(lead), invoke).await
    }
}

#[tokio::test]
async fn a_judged_lead_has_no_further_message() {
    let sender = Sender::start().await;
    let lead = sender.lead().await;
    assert_eq!(sender.chain(lead).await, Vec::<u64>::new());
}

#[tokio::test]
async fn a_disabled_workspace_has_one_message_in_a_quarter_of_an_hour() {
    let sender = Sender::start().await;
    let lead = sender.lead().await;
    sender.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    assert_eq!(sender.chain(lead).await, vec![900; 96]);
}
