//! The first messages of leads.

use domain::{Capture, Cellphone, Contact, Lead, MessageStatus};
use harness::trips;
use store::{Lease, LeasedLead, Replaced};

use crate::{FIRST_DUE, LEASE, Sender, failed};

impl Sender {
    /// A lead whose conversation is open, with its message to send.
    async fn lead(&self) -> Lead {
        let template = self.world.template(|template| template.name = "hello".to_owned()).await;
        self.world.capture(|capture| capture.template = Some(template.id)).await;
        let lead = self.world.lead("+12025550101", |_| ()).await;
        let (next, mut opening) = self.world.opening(&lead, None).await;
        let conversation = opening.conversation.as_ref().unwrap();
        let (contact, now) = (&opening.contact.as_ref().unwrap().1, self.store().now());
        opening.message = lead.message_in(conversation, contact, template.bare_content(now), 1, now);
        let lane = domain::LaneId::Lead(lead.workspace_id, lead.id);
        let Lease::Taken(leased) = self.store().lease_lane(lane, LEASE).await.unwrap() else {
            panic!("it is free")
        };
        let leased = LeasedLead::of(&leased).unwrap();
        self.store().open_lead(&leased, &next, &opening, FIRST_DUE, LEASE).await.unwrap();
        next
    }

    async fn change_capture(&self, change: impl FnOnce(&mut Capture)) {
        let mut capture = self.store().capture(self.world.workspace).await.unwrap().unwrap();
        change(&mut capture);
        capture.version += 1;
        self.world.save_capture(&capture).await;
    }

    /// Sends the message of the lead. Returns the status and the error of its part.
    async fn send(&self, lead: &Lead) -> (MessageStatus, Option<String>) {
        assert_eq!(self.run(&[crate::task(&lead.conversation.to_string())]).await, Vec::<String>::new());
        let part = self.message_in(lead.conversation, lead.message).await.parts.remove(0);
        (part.status, part.error.map(|error| error.as_str().to_owned()))
    }
}

#[tokio::test]
async fn a_leads_message_is_sent_like_every_template() {
    let sender = Sender::start().await;
    let lead = sender.lead().await;
    sender.engine.store.person_key().await.unwrap();
    sender.world.db.forget_calls();
    assert_eq!(sender.send(&lead).await, (MessageStatus::Sent, None));
    assert_eq!(sender.provider.short(), [("+12025550101".to_owned(), "hello".to_owned())]);
    let calls = sender.world.db.calls();
    let writes: f64 = calls.iter().map(|call| call.write_units).sum();
    // The last read is the test's.
    assert_eq!((trips(&calls), writes), (8 + 1, 12.0), "{calls:?}");
    // Only the relay moves the lead.
    assert_eq!(sender.store().lead(lead.workspace_id, lead.id).await.unwrap(), Some(lead));
}

#[tokio::test]
async fn a_leads_message_is_not_sent_if_capture_is_off_or_the_number_changed() {
    for (case, expected) in [
        ("disabled", "CAPTURE_DISABLED"),
        ("opted out", "OPTED_OUT"),
        ("another number", "NUMBER_CHANGED"),
        ("erased lead", "NO_CONSENT"),
    ] {
        let sender = Sender::start().await;
        let lead = sender.lead().await;
        let store = sender.store();
        match case {
            "disabled" => sender.change_capture(|capture| capture.enabled = false).await,
            "opted out" => {
                let scope = domain::ChoiceScope::All;
                assert!(
                    store
                        .opt_out(lead.workspace_id, &lead.cellphone, scope, store.now(), harness::operator())
                        .await
                        .unwrap()
                );
            }
            "another number" => {
                let before = store.contact(lead.workspace_id, lead.contact).await.unwrap().unwrap();
                let cellphone = Cellphone::parse("+12025550199").ok();
                let next = Contact { cellphone, version: 2, ..before.clone() };
                assert_eq!(store.replace_contact(&before, &next, "moved").await.unwrap(), Replaced::Done);
            }
            _ => store.erase_lead(&lead).await.unwrap(),
        }
        assert_eq!(sender.send(&lead).await, failed(expected), "{case}");
        assert_eq!(sender.provider.calls(), [], "{case}");
    }
}
