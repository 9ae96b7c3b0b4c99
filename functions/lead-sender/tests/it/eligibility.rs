//! Checks that each try repeats: whether the lead may get a message, and which one.

use domain::conversation::ConversationChange;
use domain::settings::template::{Source, Variable};
use domain::{Conversation, ConversationStatus, LeadState, Secret, Template, TemplateId};
use harness::World;
use provider::{CallOutcome, Outgoing};
use store::{Changed, Table};

use crate::{LINE, PHONE, SENT, Sender, failed, of_contact, said, secs, suppressed};

type Ended = (LeadState, Option<String>);

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
    NeedsCaller,
    NeedsName,
}

use Meanwhile::*;

const ALL: [Meanwhile; 9] =
    [Disabled, SetUpGone, OptedOut, LineGone, TemplateUnset, TemplateGone, Revoked, NeedsCaller, NeedsName];

impl Meanwhile {
    async fn happens(self, sender: &Sender) {
        let (workspace, template) = (World::WORKSPACE, sender.template.clone());
        match self {
            Self::Disabled => sender.change_capture(|capture| capture.enabled = false).await,
            Self::SetUpGone => sender.world.db.remove_row(Table::Workspaces, &format!("{workspace}#K"), "K"),
            Self::OptedOut => {
                let cellphone = domain::Cellphone::parse(PHONE).unwrap();
                let store = sender.store();
                assert!(
                    store
                        .opt_out(sender.world.workspace, &cellphone, domain::ChoiceScope::All, store.now())
                        .await
                        .unwrap()
                );
            }
            Self::LineGone => {
                sender.world.db.remove_row(
                    Table::Workspaces,
                    &format!("{workspace}#L"),
                    &format!("L#{LINE}"),
                );
            }
            Self::TemplateUnset => sender.change_capture(|capture| capture.template = None).await,
            Self::TemplateGone => {
                let id = template.id.to_string();
                sender.world.db.remove_row(Table::Workspaces, &format!("{workspace}#M"), &id);
            }
            Self::Revoked => sender.change_template(|template| template.states.clear()).await,
            Self::NeedsCaller => {
                let variable = Variable { name: "code".to_owned(), source: Source::Caller };
                sender.change_template(|template| also(template, variable)).await;
            }
            Self::NeedsName => {
                let email = of_contact("email", domain::settings::template::ContactField::Email, None);
                sender.change_template(|template| also(template, email)).await;
            }
        }
    }

    /// The outcome of a lead that was not tried yet.
    fn at_first(self) -> Ended {
        match self {
            Self::Disabled | Self::SetUpGone => suppressed("CAPTURE_DISABLED"),
            Self::OptedOut => suppressed("OPTED_OUT"),
            Self::LineGone => failed("NO_LINE"),
            Self::TemplateUnset | Self::TemplateGone => failed("NO_TEMPLATE"),
            Self::Revoked => failed("NOT_APPROVED"),
            Self::NeedsCaller | Self::NeedsName => failed("MISSING_VALUE"),
        }
    }

    /// The outcome of a lead that has its message already. It depends on the message's own template.
    fn later(self) -> Ended {
        match self {
            Self::TemplateUnset => SENT,
            _ => self.at_first(),
        }
    }
}

/// The template with one more variable.
fn also(template: &mut Template, variable: Variable) {
    let variables = template.variables().into_iter().chain([variable]).collect();
    template.set_variables(variables);
}

#[tokio::test]
async fn a_change_after_acceptance_counts_and_nothing_is_created() {
    for meanwhile in ALL {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        meanwhile.happens(&sender).await;
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, meanwhile.at_first(), "{meanwhile:?}");
        assert_eq!(sender.provider.calls(), [], "{meanwhile:?}");
        let lead = sender.stored(id).await;
        assert_eq!((lead.opened, lead.version), (false, 2), "{meanwhile:?}");
        for table in [Table::Contacts, Table::Conversations, Table::Messages] {
            assert_eq!(sender.world.db.rows(table).len(), 0, "{meanwhile:?}");
        }
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_change_between_two_tries_counts_and_the_message_shows_it() {
    for meanwhile in ALL {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.provider.ends(CallOutcome::NeverConnected);
        sender.wake(id).await;
        sender.sqs.take();
        meanwhile.happens(&sender).await;
        sender.world.db.clock().advance(secs(30));
        sender.wake(id).await;
        let expected = meanwhile.later();
        assert_eq!(sender.state(id).await, expected, "{meanwhile:?}");
        assert_eq!(sender.part(id).await, said(expected.clone()), "{meanwhile:?}");
        let calls = if expected == SENT { 2 } else { 1 };
        assert_eq!(sender.provider.calls().len(), calls, "{meanwhile:?}");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_prohibition_takes_precedence_over_a_temporary_obstacle() {
    let sender = Sender::start().await;
    let ids = [sender.lead().await, sender.lead_of("+12025550102").await];
    for meanwhile in [Revoked, OptedOut, LineGone] {
        meanwhile.happens(&sender).await;
    }
    sender.wake(ids[0]).await;
    assert_eq!(sender.state(ids[0]).await, suppressed("OPTED_OUT"));
    sender.wake(ids[1]).await;
    assert_eq!(sender.state(ids[1]).await, failed("NO_LINE"), "a block of another number has no effect");
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

#[tokio::test]
async fn a_message_keeps_its_template_and_line_when_the_settings_change() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(CallOutcome::NeverConnected);
    sender.wake(id).await;
    let other = sender.world.template(|template| template.name = "other".to_owned()).await;
    sender.change_capture(|capture| capture.template = Some(other.id)).await;
    sender.world.line("2", |_| ()).await;
    sender.world.db.clock().advance(secs(30));
    sender.wake(id).await;
    let calls = sender.provider.calls();
    assert_eq!((sender.state(id).await, calls.len()), (SENT, 2));
    assert_eq!(calls[0], calls[1]);
    assert!(matches!(&calls[1].what, Outgoing::Template { name, .. } if name == "lead_hello"));
}

#[tokio::test]
async fn a_conversation_blocked_between_two_tries_gets_no_message() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(CallOutcome::NeverConnected);
    sender.wake(id).await;
    sender.sqs.take();
    let lead = sender.stored(id).await;
    let conversation = sender.store().conversation(lead.workspace_id, lead.conversation).await;
    let conversation = conversation.unwrap().unwrap();
    let blocked = Conversation { version: 2, status: ConversationStatus::Blocked, ..conversation.clone() };
    let change = ConversationChange { conversation: blocked, new_contacts: vec![] };
    let changed = sender.store().change_conversation(&conversation, &change, "block").await;
    assert_eq!(changed.unwrap(), Changed::Done);
    sender.world.db.clock().advance(secs(30));
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (failed("BLOCKED"), 1));
    assert_eq!(sender.part(id).await, said(failed("BLOCKED")));
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_lead_waits_for_the_token_of_its_line() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.world.db.remove_row(Table::Secrets, &format!("{}#L#{LINE}", World::WORKSPACE), "S");
    sender.wake(id).await;
    let lead = sender.stored(id).await;
    assert_eq!((lead.state, lead.opened, lead.progress.failures), (LeadState::Queued, false, 1));
    assert_eq!(lead.version, 1);
    assert_eq!((sender.provider.calls(), sender.sqs.take()[0].delay), (vec![], 30));

    let channel = domain::ChannelId::parse(LINE).unwrap();
    let line = sender.store().line(sender.world.workspace, &channel).await.unwrap().unwrap();
    let token = Secret::new("another");
    sender.store().set_line_token(&line.with_new_token(), &token).await.unwrap();
    sender.world.db.clock().advance(secs(30));
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.provider.calls()[0].token.as_str()), (SENT, "another"));
}

#[tokio::test]
async fn a_lead_whose_line_never_gets_a_token_fails_and_creates_nothing() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.world.db.remove_row(Table::Secrets, &format!("{}#L#{LINE}", World::WORKSPACE), "S");
    for _ in 0..12 {
        sender.wake(id).await;
        sender.world.db.clock().advance(secs(14_400));
    }
    assert_eq!((sender.state(id).await, sender.part(id).await), (failed("GIVEN_UP"), None));
    assert_eq!(sender.world.db.rows(Table::Conversations).len(), 0);
}

#[tokio::test]
async fn a_choice_before_the_begin_stops_the_call_and_leaves_nothing() {
    let dry = Sender::start().await;
    let id = dry.lead().await;
    dry.world.db.forget_calls();
    dry.wake(id).await;
    // Reads are made together. The writes are the steps, one after another.
    let writes = dry.world.db.calls().into_iter().filter(|call| call.write_units > 0.0);
    let operations: Vec<String> = writes.map(|call| call.operation).collect();
    let mut stopped = 0;
    for (n, operation) in operations.iter().enumerate() {
        let nth = operations[..=n].iter().filter(|of| *of == operation).count();
        let sender = Sender::start().await;
        let id = sender.lead().await;
        let meanwhile = async {
            let held = sender.world.db.hold_nth(operation, nth).await;
            OptedOut.happens(&sender).await;
            let is_begun = sender.stored(id).await.opened;
            drop(held);
            is_begun
        };
        // The hold is there before the first call.
        let (is_begun, ()) = tokio::join!(meanwhile, sender.wake(id));
        let expected = if is_begun { SENT } else { suppressed("OPTED_OUT") };
        assert_eq!(sender.state(id).await, expected, "{operation} {nth}");
        assert_eq!(sender.provider.calls().len(), usize::from(is_begun), "{operation} {nth}");
        if !is_begun {
            stopped += 1;
            for table in [Table::Contacts, Table::Conversations, Table::Messages] {
                assert_eq!(sender.world.db.rows(table).len(), 0, "{operation} {nth}");
            }
        }
    }
    assert!(stopped > 2 && stopped < operations.len(), "{stopped} of {operations:?}");
}

#[tokio::test]
async fn a_choice_between_two_calls_for_a_lead_stops_the_second() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(CallOutcome::Answered { status: 500, code: Some(131_000) });
    sender.wake(id).await;
    sender.world.db.clock().advance(secs(60));
    let meanwhile = async {
        // The first transaction is the begin: the contact, the conversation and the message are there already.
        let held = sender.world.db.hold_nth("TransactWriteItems", 1).await;
        OptedOut.happens(&sender).await;
        drop(held);
    };
    tokio::join!(sender.wake(id), meanwhile);
    assert_eq!(sender.state(id).await, suppressed("OPTED_OUT"));
    assert_eq!(sender.provider.calls().len(), 1);
}

#[tokio::test]
async fn a_suppressed_lead_that_is_repeated_is_checked_again() {
    for opts_in in [false, true] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        OptedOut.happens(&sender).await;
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, suppressed("OPTED_OUT"));
        let (lead, store) = (sender.stored(id).await, sender.store());
        if opts_in {
            sender.world.db.clock().advance(secs(1));
            assert!(store.opt_in(lead.workspace_id, &lead.cellphone).await.unwrap());
        }
        let repeated =
            store.repeat_lead(lead.workspace_id, "another", id, &lead.cellphone, &lead.brand).await;
        assert_eq!(repeated.unwrap(), None);
        assert_eq!(sender.due().await, [id]);
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, if opts_in { SENT } else { suppressed("OPTED_OUT") });
        assert_eq!(sender.provider.calls().len(), usize::from(opts_in));
    }
}
