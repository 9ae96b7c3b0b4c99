//! `console conversation ...`

use clap::{Args, Subcommand};
use domain::{Conversation, ConversationId, External, Internal};
use futures::future::try_join;
use serde::Serialize;
use store::{Entry, SendingState};

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, or_dash, stacked};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Show a conversation: its participants and the messages that are still to be sent.
    Show(OneConversation),
}

#[derive(Args)]
pub(crate) struct OneConversation {
    #[command(flatten)]
    pub(crate) within: InWorkspace,
    /// The conversation's id.
    #[arg(long, value_name = "ID", value_parser = ConversationId::parse)]
    pub(crate) conversation: ConversationId,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Show(one) => show(console, &one, output).await,
        }
    }
}

async fn show(console: &Console, one: &OneConversation, output: &mut Output<'_>) -> Result<(), Refusal> {
    let (workspace, id) = (console.workspace(one.within.workspace).await?.id, one.conversation);
    let store = &console.store;
    let found = try_join(store.conversation(workspace, id), store.lane_state(workspace, id)).await?;
    let (Some(conversation), Some(lane)) = found else { return Err(Refusal::UnknownConversation(id)) };
    output.one(&ConversationView::of(&conversation, &lane))
}

/// A conversation with ids only. Other commands show names, addresses and texts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConversationView {
    conversation_id: String,
    status: &'static str,
    externals: Vec<ExternalView>,
    internals: Vec<InternalView>,
    lane: LaneView,
    created_at: String,
    updated_at: String,
    version: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExternalView {
    contact_id: String,
    provider_channel_id: String,
    brand_id: String,
    joined_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InternalView {
    user_id: String,
    joined_at: String,
}

/// The lane that sends the conversation's messages in the order of their numbers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LaneView {
    /// The last number that a message got.
    seq: u64,
    lease: Option<String>,
    lease_until: Option<String>,
    /// When the sweeper processes the lane.
    due_at: Option<String>,
    /// The unfinished messages.
    open: Vec<EntryView>,
    /// Whether there are more unfinished messages than `open` lists.
    more: bool,
    /// The templates that become messages before the messages in `open`.
    plan: Option<PlanView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryView {
    seq: u64,
    message_id: String,
}

#[derive(Serialize)]
struct PlanView {
    /// All templates of the plan, in order.
    templates: Vec<String>,
    /// The number of templates that have become messages.
    done: usize,
}

impl ConversationView {
    fn of(conversation: &Conversation, lane: &SendingState) -> Self {
        Self {
            conversation_id: conversation.id.to_string(),
            status: conversation.status.as_str(),
            externals: conversation.externals.iter().map(ExternalView::from).collect(),
            internals: conversation.internals.iter().map(InternalView::from).collect(),
            lane: LaneView::from(lane),
            created_at: conversation.created_at.to_string(),
            updated_at: conversation.updated_at.to_string(),
            version: conversation.version,
        }
    }
}

impl From<&External> for ExternalView {
    fn from(external: &External) -> Self {
        Self {
            contact_id: external.contact.to_string(),
            provider_channel_id: external.channel.as_str().to_owned(),
            brand_id: external.brand.as_str().to_owned(),
            joined_at: external.joined_at.to_string(),
        }
    }
}

impl From<&Internal> for InternalView {
    fn from(internal: &Internal) -> Self {
        Self { user_id: internal.user.to_string(), joined_at: internal.joined_at.to_string() }
    }
}

impl From<&SendingState> for LaneView {
    fn from(lane: &SendingState) -> Self {
        let entry = |entry: &Entry| EntryView { seq: entry.seq, message_id: entry.message.to_string() };
        let plan = lane.open.plan.as_ref().map(|plan| PlanView {
            templates: plan.steps.iter().map(|step| step.template.to_string()).collect(),
            done: plan.done,
        });
        Self {
            seq: lane.seq,
            lease: lane.lease.map(|(lease, _)| lease.to_string()),
            lease_until: lane.lease.map(|(_, until)| until.to_string()),
            due_at: lane.due_at.map(|at| at.to_string()),
            open: lane.open.entries.iter().map(entry).collect(),
            more: lane.open.more,
            plan,
        }
    }
}

impl Shown for ConversationView {
    const HEADINGS: &'static [&'static str] = &[
        "conversation",
        "status",
        "externals",
        "internals",
        "messages",
        "leased until",
        "due",
        "open",
        "templates left",
        "created",
        "updated",
    ];

    fn cells(&self) -> Vec<String> {
        let external = |of: &ExternalView| format!("{} on line {}", of.contact_id, of.provider_channel_id);
        let entry = |of: &EntryView| format!("{}. {}", of.seq, of.message_id);
        let left = self.lane.plan.iter().flat_map(|plan| plan.templates.iter().skip(plan.done).cloned());
        let more = self.lane.more.then(|| "and more".to_owned());
        vec![
            self.conversation_id.clone(),
            self.status.to_owned(),
            stacked(self.externals.iter().map(external)),
            stacked(self.internals.iter().map(|of| of.user_id.clone())),
            self.lane.seq.to_string(),
            or_dash(&self.lane.lease_until),
            or_dash(&self.lane.due_at),
            stacked(self.lane.open.iter().map(entry).chain(more)),
            stacked(left),
            self.created_at.clone(),
            self.updated_at.clone(),
        ]
    }
}
