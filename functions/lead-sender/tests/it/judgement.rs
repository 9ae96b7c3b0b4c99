//! Whether a lead may get a message, and which one: what holds when it is judged counts.

use domain::{LeadState, TemplateId};
use harness::World;
use store::Table;

use crate::{LINE, OPENED, PHONE, Sender, failed, suppressed};

/// Changes after a lead was accepted, and their effects.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Disabled,
    SetUpGone,
    OptedOut,
    LineGone,
    TemplateUnset,
    TemplateGone,
    Revoked,
}

use Meanwhile::*;

const ALL: [Meanwhile; 7] = [Disabled, SetUpGone, OptedOut, LineGone, TemplateUnset, TemplateGone, Revoked];

impl Meanwhile {
    async fn happens(self, sender: &Sender) {
        let (workspace, mut template) = (World::WORKSPACE, sender.template.clone());
        match self {
            Self::Disabled => sender.change_capture(|capture| capture.enabled = false).await,
            Self::SetUpGone => sender.world.db.remove_row(Table::Workspaces, &format!("{workspace}#K"), "K"),
            Self::OptedOut => {
                let cellphone = domain::Cellphone::parse(PHONE).unwrap();
                let store = sender.store();
                let opted_out = store.opt_out(
                    sender.world.workspace,
                    &cellphone,
                    domain::ChoiceScope::All,
                    store.now(),
                    harness::operator(),
                );
                assert!(opted_out.await.unwrap());
            }
            Self::LineGone => {
                let line = format!("L#{LINE}");
                sender.world.db.remove_row(Table::Workspaces, &format!("{workspace}#L"), &line);
            }
            Self::TemplateUnset => sender.change_capture(|capture| capture.template = None).await,
            Self::TemplateGone => {
                let id = template.id.to_string();
                sender.world.db.remove_row(Table::Workspaces, &format!("{workspace}#M"), &id);
            }
            Self::Revoked => {
                template.states.clear();
                template.version += 1;
                assert!(sender.store().replace_template(&template).await.unwrap());
            }
        }
    }

    /// The state of the lead, and whether it has a contact, a conversation and a message.
    fn outcome(self) -> ((LeadState, Option<String>), [bool; 3]) {
        match self {
            Self::Disabled | Self::SetUpGone => (suppressed("CAPTURE_DISABLED"), [false; 3]),
            Self::OptedOut => (suppressed("OPTED_OUT"), [false; 3]),
            // The workspace has no line at all.
            Self::LineGone => (failed("NO_LINE"), [true, false, false]),
            Self::TemplateUnset | Self::TemplateGone => (failed("NO_TEMPLATE"), [true, true, false]),
            // The message fails or waits by the status of the template.
            Self::Revoked => (OPENED, [true; 3]),
        }
    }
}

#[tokio::test]
async fn a_change_after_acceptance_counts() {
    for meanwhile in ALL {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        meanwhile.happens(&sender).await;
        sender.wake(id).await;
        let (state, exists) = meanwhile.outcome();
        assert_eq!(sender.state(id).await, state, "{meanwhile:?}");
        let lead = sender.stored(id).await;
        assert_eq!((lead.opened, lead.version), (exists[1], 2), "{meanwhile:?}");
        let rows = [
            sender.world.db.rows_of(Table::Contacts, "contact"),
            sender.world.db.rows_from(Table::Conversations, "C"),
            sender.world.db.rows_from(Table::Messages, "M#"),
        ];
        assert_eq!(rows.map(|rows| rows.len() == 1), exists, "{meanwhile:?}");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_prohibition_takes_precedence_over_an_obstacle() {
    let sender = Sender::start().await;
    let ids = [sender.lead().await, sender.lead_of("+12025550102").await];
    for meanwhile in [OptedOut, LineGone] {
        meanwhile.happens(&sender).await;
    }
    sender.wake(ids[0]).await;
    assert_eq!(sender.state(ids[0]).await, suppressed("OPTED_OUT"));
    sender.wake(ids[1]).await;
    assert_eq!(sender.state(ids[1]).await, failed("NO_LINE"), "a choice of another number has no effect");
    Disabled.happens(&sender).await;
    let third = sender.lead_of("+12025550103").await;
    sender.wake(third).await;
    assert_eq!(sender.state(third).await, suppressed("CAPTURE_DISABLED"));
}

#[tokio::test]
async fn a_template_of_another_workspace_does_not_exist() {
    let sender = Sender::start().await;
    let (other, _) = sender.world.second_workspace().await;
    let theirs = sender.world.template_of(domain::TemplateScope::Workspace(other), |_| ()).await;
    let nobodys = TemplateId::from_uuid(uuid::Uuid::from_u128(1));
    for (template, phone) in [(theirs.id, PHONE), (nobodys, "+12025550102")] {
        sender.change_capture(|capture| capture.template = Some(template)).await;
        let id = sender.lead_of(phone).await;
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, failed("NO_TEMPLATE"));
    }
}
