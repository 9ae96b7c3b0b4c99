//! The events of one subject are posted in their order.

use domain::{Event, EventId};
use store::NewEvent;
use uuid::Uuid;

use crate::world::{BODY, RESCUE, World, event, least, new_event, slot};

impl World {
    /// Records these events, each with its subject, and adds them to the lane.
    async fn notify_about(&self, events: &[(u64, u128)]) {
        let new = events.iter().map(|(number, about)| NewEvent {
            about: Some(Uuid::from_u128(*about)),
            ..new_event(&event(*number), BODY)
        });
        for recorded in self.store().record_events(&new.collect::<Vec<_>>()).await {
            recorded.unwrap();
        }
        let events: Vec<Event> = events.iter().map(|(number, _)| event(*number)).collect();
        self.store().notify_webhook_lane(slot(), least(&events), RESCUE).await.unwrap();
    }

    /// Waits until this many posts have begun.
    async fn begun(&self, posts: usize) {
        while self.receivers.count() < posts {
            tokio::task::yield_now().await;
        }
    }

    /// The numbers of the posted events, in the order in which their posts began.
    fn posted(&self) -> Vec<u64> {
        let number = |id: EventId| (0..100).find(|number| event(*number).id == id).unwrap();
        self.receivers.posts().iter().map(|posted| number(posted.event())).collect()
    }
}

#[tokio::test]
async fn an_event_waits_for_the_answer_to_the_one_before_it_of_its_subject_and_for_no_other() {
    for status in [200, 500] {
        let world = World::empty().await;
        world.notify_about(&[(1, 7), (2, 7), (3, 8), (4, 7), (5, 9)]).await;
        let failed = world.visit_meanwhile(status, world.begun(3)).await;
        assert_eq!(failed, Vec::<String>::new());
        // A failed event holds the others back no longer than its post lasts.
        assert_eq!(world.posted(), [1, 3, 5, 2, 4], "{status}");
    }
}
