//! Messages to contacts that became part of another one: what was stored names them for good.

use domain::{Contact, LaneId};
use store::{AskedMerge, Joined, Lease, LeasedJob};

use crate::{LEASE, Sender, failed, sent};

const NUMBER: &str = "+34600111222";

impl Sender {
    /// Makes one contact part of another, as the function `people` does.
    async fn joined(&self, stays: &Contact, goes: &Contact) {
        let (store, workspace) = (self.store(), self.world.workspace);
        let asked = store.ask_merge(workspace, stays.id, goes.id).await.unwrap();
        let AskedMerge::Running(merge) = asked else { panic!("{asked:?}") };
        let lane = LaneId::Person(workspace, merge.id);
        let Lease::Taken(leased) = store.lease_lane(lane, LEASE).await.unwrap() else {
            panic!("the merge is asked for")
        };
        let (mine, _) = LeasedJob::of(&leased).unwrap();
        assert!(matches!(store.join_contacts(&mine, &merge).await.unwrap(), Joined::Done(_)));
    }
}

#[tokio::test]
async fn a_message_to_a_merged_contact_goes_to_the_one_that_it_became_part_of_and_once() {
    let sender = Sender::start().await;
    sender.engine.store.person_key().await.unwrap();
    let (ana, anita) = (sender.customer(NUMBER).await, sender.customer("+34600111333").await);
    let bob = sender.customer("+34600111444").await;
    let conversation = sender.conversation(&[&anita, &bob]).await;
    let alone = sender.say(&conversation, "to one of them").await;
    sender.joined(&ana, &anita).await;
    sender.wake().await;
    assert_eq!(sender.parts(alone).await, sent(2));
    assert_eq!(sender.provider.numbers(), [NUMBER, "+34600111444"]);

    // Both contacts of a person were recipients. The message goes to the person once.
    let sender = Sender::start().await;
    sender.engine.store.person_key().await.unwrap();
    let (ana, anita) = (sender.customer(NUMBER).await, sender.customer("+34600111333").await);
    let conversation = sender.conversation(&[&anita, &ana]).await;
    let both = sender.say(&conversation, "to both").await;
    sender.joined(&ana, &anita).await;
    sender.wake().await;
    assert_eq!(sender.parts(both).await, [failed("NO_ADDRESS"), sent(1).remove(0)]);
    assert_eq!(sender.provider.numbers(), [NUMBER]);
}
