//! `console conversation ...`

use clap::{Args, Subcommand};
use domain::message::received::Received;
use domain::{
    ChannelId, ContactId, ContactRef, Conversation, ConversationId, ConversationStatus, External, Internal,
    Timestamp, UserRef, WorkspaceId,
};
use futures::future::{try_join, try_join_all};
use serde_json::json;
use store::{ConversationQuery, Entry, SendingState, Store};

use crate::arguments::{InWorkspace, contact_ref, one, one_of, user_ref};
use crate::output::{Output, Report};
use crate::paging::{Limit, Listed};
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List conversations, newest first.
    List(List),
    /// Show a conversation: its participants, until when WhatsApp accepts texts to each customer (24 hours after the
    /// customer's last message), and the messages that are still to be sent.
    Show(OneConversation),
}

one!(OneConversation {
    /// The conversation's id.
    conversation: ConversationId = "ID", ConversationId::parse
});

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only conversations with this status.
    #[arg(long, value_parser = one_of(ConversationStatus::NAMES, ConversationStatus::parse))]
    status: Option<ConversationStatus>,
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
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::List(wanted) => wanted.find(console).await?.report(row, |conversation| conversation.id),
            Self::Show(one) => show(console, &one).await?.into(),
        })
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Listed<Conversation>> {
        let workspace = console.workspace(&self.within).await?.id;
        let from = match self.after {
            None => None,
            Some(id) => Some(ConversationQuery::behind(&known(&console.store, workspace, id).await?)),
        };
        let read = async |page_size, after| {
            let (external, internal) = (self.contact.clone(), self.user.clone());
            let wanted = ConversationQuery { status: self.status, external, internal, page_size, after };
            Ok(console.store.conversations_page(workspace, wanted).await?)
        };
        self.limit.fill(from, read).await
    }
}

/// Reads a conversation, and refuses an unknown one.
pub(crate) async fn known(store: &Store, workspace: WorkspaceId, id: ConversationId) -> Result<Conversation> {
    Named::Conversation.found(store.conversation(workspace, id).await?, id)
}

async fn show(console: &Console, one: &OneConversation) -> Result<View> {
    let (workspace, id) = (console.workspace(&one.within).await?.id, one.conversation);
    let store = &console.store;
    let found = try_join(store.conversation_and_seen(workspace, id), store.lane_state(workspace, id)).await?;
    let (Some((conversation, seen)), Some(lane)) = found else {
        return Err(Named::Conversation.unknown(id));
    };
    let shown = conversation.with_seen(&seen);
    let windows = windows(store, &shown).await?;
    Ok(details(&shown, &windows, &lane))
}

/// Until when WhatsApp accepts texts and files to each customer of a conversation.
async fn windows(store: &Store, conversation: &Conversation) -> Result<Vec<Window>> {
    let (workspace, now) = (conversation.workspace_id, store.now());
    let window = async |external: &External| {
        let last = store.last_inbound(workspace, external.contact, &external.channel).await?;
        let last_and_end = last.map(|last| (last, last.plus(Received::WINDOW)));
        let is_open = last_and_end.is_some_and(|(_, end)| now < end);
        let (contact, channel) = (external.contact, external.channel.clone());
        Ok::<_, Refusal>(Window { contact, channel, is_open, last_and_end })
    };
    try_join_all(conversation.externals.iter().map(window)).await
}

fn row(conversation: &Conversation) -> View {
    let customers = conversation.externals.iter().map(|of| of.shown.identifier());
    let users = conversation.internals.iter().map(|of| of.shown.identifier());
    view(conversation)
        .cell("customers", customers.collect::<Vec<_>>().join(", "))
        .cell("users", users.collect::<Vec<_>>().join(", "))
        .text("createdAt", "created", conversation.created_at)
        .text("updatedAt", "updated", conversation.updated_at)
}

/// What lists and details have in common.
fn view(conversation: &Conversation) -> View {
    View::new()
        .text("conversationId", "conversation", conversation.id)
        .optional("name", "name", conversation.name.as_ref().map(|name| name.as_str()))
        .text("status", "status", conversation.status.as_str())
        .json("externals", conversation.externals.iter().map(external_view).collect::<Vec<_>>())
        .json("internals", conversation.internals.iter().map(internal_view).collect::<Vec<_>>())
        .json("version", conversation.version)
}

/// A conversation with its windows and the lane that sends its messages in the order of their numbers.
fn details(conversation: &Conversation, windows: &[Window], lane: &SendingState) -> View {
    let external = |of: &External| {
        let customer = with_id(of.contact.to_string(), &of.shown.identifier());
        format!("{customer} on line {}", of.channel.as_str())
    };
    let internal = |of: &Internal| with_id(of.user.to_string(), &of.shown.identifier());
    let entry = |of: &Entry| format!("{}. {}", of.seq, of.message);
    let more = lane.open.more.then(|| "and more".to_owned());
    let left = lane.open.plan.iter().flat_map(|plan| plan.steps.iter().skip(plan.done));
    view(conversation)
        .lines("externals", conversation.externals.iter().map(external))
        .lines("24-hour window", windows.iter().map(Window::line))
        .lines("internals", conversation.internals.iter().map(internal))
        .cell("messages", lane.seq.to_string())
        .lines("leased until", lane.lease.map(|(_, until)| until.to_string()))
        .lines("due", lane.due_at.map(|at| at.to_string()))
        .lines("open", lane.open.entries.iter().map(entry).chain(more))
        .lines("templates left", left.map(|step| step.template.to_string()))
        .text("createdAt", "created", conversation.created_at)
        .text("updatedAt", "updated", conversation.updated_at)
        .json("windows", windows.iter().map(Window::view).collect::<Vec<_>>())
        .json("lane", lane_view(lane))
}

/// The 24 hours after a customer's last message on a line. Outside them, WhatsApp accepts only templates.
struct Window {
    contact: ContactId,
    channel: ChannelId,
    is_open: bool,
    /// When the customer wrote last, and when the window ends or ended, if the service knows.
    last_and_end: Option<(Timestamp, Timestamp)>,
}

impl Window {
    fn view(&self) -> View {
        View::new()
            .json("contactId", self.contact.to_string())
            .json("providerChannelId", self.channel.as_str())
            .json("isOpen", self.is_open)
            .json("lastInboundAt", self.last_and_end.map(|(last, _)| last.to_string()))
            .json("openUntil", self.last_and_end.map(|(_, end)| end.to_string()))
    }

    fn line(&self) -> String {
        match self.last_and_end {
            Some((_, end)) if self.is_open => format!("{} until {end}", self.contact),
            Some((_, end)) => format!("{} closed since {end}", self.contact),
            None => format!("{} not known", self.contact),
        }
    }
}

fn external_view(external: &External) -> View {
    View::new()
        .json("contactId", external.contact.to_string())
        .json("identifier", external.shown.identifier())
        .json("identifierType", external.shown.identifier_type())
        .json("providerChannelId", external.channel.as_str())
        .json("brandId", external.brand.as_str())
        .json("joinedAt", external.joined_at.to_string())
        .json("lastSeenAt", external.last_seen_at.map(|at| at.to_string()))
}

fn internal_view(internal: &Internal) -> View {
    View::new()
        .json("userId", internal.user.to_string())
        .json("identifier", internal.shown.identifier())
        .json("identifierType", internal.shown.identifier_type())
        .json("joinedAt", internal.joined_at.to_string())
        .json("lastSeenAt", internal.last_seen_at.map(|at| at.to_string()))
}

fn lane_view(lane: &SendingState) -> View {
    let entry = |entry: &Entry| json!({ "seq": entry.seq, "messageId": entry.message.to_string() });
    let plan = lane.open.plan.as_ref().map(|plan| {
        let templates = plan.steps.iter().map(|step| step.template.to_string());
        json!({ "templates": templates.collect::<Vec<_>>(), "done": plan.done })
    });
    View::new()
        .json("seq", lane.seq)
        .json("lease", lane.lease.map(|(lease, _)| lease.to_string()))
        .json("leaseUntil", lane.lease.map(|(_, until)| until.to_string()))
        .json("dueAt", lane.due_at.map(|at| at.to_string()))
        .json("open", lane.open.entries.iter().map(entry).collect::<Vec<_>>())
        .json("more", lane.open.more)
        .json("plan", plan)
}

/// A person's id, and the identifier by which the person was named if it is another one.
fn with_id(id: String, identifier: &str) -> String {
    if id == identifier { id } else { format!("{id} ({identifier})") }
}
