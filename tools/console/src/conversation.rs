//! `console conversation ...`

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::message::received::Received;
use domain::{
    ContactRef, Conversation, ConversationId, ConversationStatus, External, Internal, UserRef, WorkspaceId,
};
use futures::future::{try_join, try_join_all};
use serde::Serialize;
use store::{ConversationQuery, Entry, SendingState, Store};

use crate::arguments::{InWorkspace, contact_ref, user_ref};
use crate::output::{Output, Shown, or_dash, stacked};
use crate::paging::{Limit, Listed};
use crate::refusal::{Named, unfit};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List conversations, newest first.
    List(List),
    /// Show a conversation: its participants, until when WhatsApp accepts texts to each customer (24 hours after the
    /// customer's last message), and the messages that are still to be sent.
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

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only conversations with this status.
    #[arg(long, value_parser = PossibleValuesParser::new(ConversationStatus::NAMES))]
    status: Option<String>,
    /// Only conversations of this contact.
    #[arg(long, value_name = "ID|E-MAIL|PHONE", value_parser = contact_ref)]
    contact: Option<ContactRef>,
    /// Only conversations of this user, by id or e-mail address.
    #[arg(long, value_name = "ID|E-MAIL", value_parser = user_ref)]
    user: Option<UserRef>,
    #[command(flatten)]
    limit: Limit,
    /// Only conversations that follow this one in the list: the last one of the previous list.
    #[arg(long, value_name = "ID", value_parser = ConversationId::parse)]
    after: Option<ConversationId>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::List(wanted) => {
                let listed = wanted.find(console).await?;
                listed.show(output, ConversationRow::from, |conversation| conversation.id)
            }
            Self::Show(one) => show(console, &one, output).await,
        }
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Listed<Conversation>, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let status = self
            .status
            .as_deref()
            .map(ConversationStatus::parse)
            .transpose()
            .map_err(unfit("The status is invalid"))?;
        let from = match self.after {
            None => None,
            Some(id) => Some(ConversationQuery::behind(&known(&console.store, workspace, id).await?)),
        };
        let read = async |page_size, after| {
            let (external, internal) = (self.contact.clone(), self.user.clone());
            let wanted = ConversationQuery { status, external, internal, page_size, after };
            Ok(console.store.conversations_page(workspace, wanted).await?)
        };
        self.limit.fill(from, read).await
    }
}

/// Reads a conversation, and refuses an unknown one.
pub(crate) async fn known(
    store: &Store,
    workspace: WorkspaceId,
    id: ConversationId,
) -> Result<Conversation, Refusal> {
    store.conversation(workspace, id).await?.ok_or_else(|| Named::Conversation.unknown(id))
}

async fn show(console: &Console, one: &OneConversation, output: &mut Output<'_>) -> Result<(), Refusal> {
    let (workspace, id) = (console.workspace(one.within.workspace).await?.id, one.conversation);
    let store = &console.store;
    let found = try_join(store.conversation_and_seen(workspace, id), store.lane_state(workspace, id)).await?;
    let (Some((conversation, seen)), Some(lane)) = found else {
        return Err(Named::Conversation.unknown(id));
    };
    let shown = conversation.with_seen(&seen);
    let windows = windows(store, &shown).await?;
    output.one(&ConversationView {
        conversation: ConversationRow::from(&shown),
        windows,
        lane: LaneView::from(&lane),
    })
}

/// Until when WhatsApp accepts texts and files to each customer of a conversation.
async fn windows(store: &Store, conversation: &Conversation) -> Result<Vec<WindowView>, Refusal> {
    let (workspace, now) = (conversation.workspace_id, store.now());
    let window = async |external: &External| {
        let last = store.last_inbound(workspace, external.contact, &external.channel).await?;
        let until = last.map(|last| last.plus(Received::WINDOW));
        Ok::<_, Refusal>(WindowView {
            contact_id: external.contact.to_string(),
            provider_channel_id: external.channel.as_str().to_owned(),
            is_open: until.is_some_and(|until| now < until),
            last_inbound_at: last.map(|at| at.to_string()),
            open_until: until.map(|at| at.to_string()),
        })
    };
    try_join_all(conversation.externals.iter().map(window)).await
}

/// A conversation in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConversationRow {
    conversation_id: String,
    name: Option<String>,
    status: &'static str,
    externals: Vec<ExternalView>,
    internals: Vec<InternalView>,
    created_at: String,
    updated_at: String,
    version: u64,
}

/// A conversation and its lane.
#[derive(Serialize)]
struct ConversationView {
    #[serde(flatten)]
    conversation: ConversationRow,
    windows: Vec<WindowView>,
    lane: LaneView,
}

/// The 24 hours after a customer's last message on a line. Outside them, WhatsApp accepts only templates.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowView {
    contact_id: String,
    provider_channel_id: String,
    is_open: bool,
    /// When the customer wrote last, if the service knows.
    last_inbound_at: Option<String>,
    /// When the window ends, or ended.
    open_until: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExternalView {
    contact_id: String,
    identifier: String,
    identifier_type: &'static str,
    provider_channel_id: String,
    brand_id: String,
    joined_at: String,
    last_seen_at: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InternalView {
    user_id: String,
    identifier: String,
    identifier_type: &'static str,
    joined_at: String,
    last_seen_at: Option<String>,
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

impl From<&Conversation> for ConversationRow {
    fn from(conversation: &Conversation) -> Self {
        Self {
            conversation_id: conversation.id.to_string(),
            name: conversation.name.as_ref().map(|name| name.as_str().to_owned()),
            status: conversation.status.as_str(),
            externals: conversation.externals.iter().map(ExternalView::from).collect(),
            internals: conversation.internals.iter().map(InternalView::from).collect(),
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
            identifier: external.shown.identifier(),
            identifier_type: external.shown.identifier_type(),
            provider_channel_id: external.channel.as_str().to_owned(),
            brand_id: external.brand.as_str().to_owned(),
            joined_at: external.joined_at.to_string(),
            last_seen_at: external.last_seen_at.map(|at| at.to_string()),
        }
    }
}

impl From<&Internal> for InternalView {
    fn from(internal: &Internal) -> Self {
        Self {
            user_id: internal.user.to_string(),
            identifier: internal.shown.identifier(),
            identifier_type: internal.shown.identifier_type(),
            joined_at: internal.joined_at.to_string(),
            last_seen_at: internal.last_seen_at.map(|at| at.to_string()),
        }
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

impl Shown for ConversationRow {
    const HEADINGS: &'static [&'static str] =
        &["conversation", "name", "status", "customers", "users", "created", "updated"];

    fn cells(&self) -> Vec<String> {
        let joined = |identifiers: Vec<&str>| {
            let text = identifiers.join(", ");
            or_dash(&(!text.is_empty()).then_some(text))
        };
        vec![
            self.conversation_id.clone(),
            or_dash(&self.name),
            self.status.to_owned(),
            joined(self.externals.iter().map(|of| of.identifier.as_str()).collect()),
            joined(self.internals.iter().map(|of| of.identifier.as_str()).collect()),
            self.created_at.clone(),
            self.updated_at.clone(),
        ]
    }
}

impl Shown for ConversationView {
    const HEADINGS: &'static [&'static str] = &[
        "conversation",
        "name",
        "status",
        "externals",
        "24-hour window",
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
        let external = |of: &ExternalView| {
            format!("{} on line {}", with_id(&of.contact_id, &of.identifier), of.provider_channel_id)
        };
        let internal = |of: &InternalView| with_id(&of.user_id, &of.identifier);
        let entry = |of: &EntryView| format!("{}. {}", of.seq, of.message_id);
        let left = self.lane.plan.iter().flat_map(|plan| plan.templates.iter().skip(plan.done).cloned());
        let more = self.lane.more.then(|| "and more".to_owned());
        let conversation = &self.conversation;
        vec![
            conversation.conversation_id.clone(),
            or_dash(&conversation.name),
            conversation.status.to_owned(),
            stacked(conversation.externals.iter().map(external)),
            stacked(self.windows.iter().map(WindowView::cell)),
            stacked(conversation.internals.iter().map(internal)),
            self.lane.seq.to_string(),
            or_dash(&self.lane.lease_until),
            or_dash(&self.lane.due_at),
            stacked(self.lane.open.iter().map(entry).chain(more)),
            stacked(left),
            conversation.created_at.clone(),
            conversation.updated_at.clone(),
        ]
    }
}

impl WindowView {
    fn cell(&self) -> String {
        match &self.open_until {
            Some(until) if self.is_open => format!("{} until {until}", self.contact_id),
            Some(until) => format!("{} closed since {until}", self.contact_id),
            None => format!("{} not known", self.contact_id),
        }
    }
}

/// A person's id, and the identifier by which the person was named if it is another one.
fn with_id(id: &str, identifier: &str) -> String {
    if id == identifier { id.to_owned() } else { format!("{id} ({identifier})") }
}
