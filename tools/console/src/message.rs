//! `console message ...`

use std::collections::BTreeSet;

use clap::Subcommand;
use domain::message::Content;
use domain::sending::Progress;
use domain::{Message, MessageId, Part};
use edge::view;
use serde::Serialize;
use serde_json::Value;

use crate::conversation::{OneConversation, known};
use crate::output::{Output, Shown, or_dash, printable, stacked};
use crate::paging::{Limit, Listed};
use crate::refusal::Named;
use crate::unsent::ErrorView;
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List the messages of a conversation, newest first.
    List {
        #[command(flatten)]
        of: OneConversation,
        #[command(flatten)]
        limit: Limit,
        /// Only messages that follow this one in the list: the last one of the previous list.
        #[arg(long, value_name = "ID", value_parser = MessageId::parse)]
        after: Option<MessageId>,
    },
    /// Show a message and the progress of each of its parts.
    Show {
        #[command(flatten)]
        one: OneConversation,
        /// The message's id.
        #[arg(long, value_name = "ID", value_parser = MessageId::parse)]
        message: MessageId,
    },
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::List { of, limit, after } => {
                let listed = find(console, &of, &limit, after).await?;
                listed.show(output, |message| MessageRow(MessageView::from(message)), |message| message.id)
            }
            Self::Show { one, message } => {
                let workspace = console.workspace(one.within.workspace).await?;
                let found = console.store.message(workspace.id, one.conversation, message).await?;
                output.one(&MessageView::from(&Named::Message.found(found, message)?))
            }
        }
    }
}

async fn find(
    console: &Console,
    of: &OneConversation,
    limit: &Limit,
    after: Option<MessageId>,
) -> Result<Listed<Message>, Refusal> {
    let (store, workspace) = (&console.store, console.workspace(of.within.workspace).await?.id);
    known(store, workspace, of.conversation).await?;
    let before = match after {
        None => None,
        Some(id) => {
            let last = store.message(workspace, of.conversation, id).await?;
            Some(Named::Message.found(last, id)?.seq)
        }
    };
    let found = store.messages_before(workspace, of.conversation, before, limit.rows() + 1).await?;
    Ok(Listed::of(found, limit))
}

/// A message with its parts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageView {
    message_id: String,
    conversation_id: String,
    /// The message's number in the conversation.
    seq: u64,
    sent_by: &'static str,
    broadcast: bool,
    status: &'static str,
    /// What the message is. The next field shows a customer's content that is neither text nor a file.
    #[serde(rename = "type")]
    message_type: &'static str,
    content: Option<Value>,
    message_body: Option<String>,
    template_id: Option<String>,
    media_ids: Vec<String>,
    reply_to_message_id: Option<String>,
    parts: Vec<PartView>,
    progress: ProgressView,
    created_at: String,
    updated_at: String,
    version: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartView {
    recipient: String,
    index: usize,
    status: &'static str,
    provider_message_id: Option<String>,
    #[serde(flatten)]
    error: ErrorView,
    delivered_at: Option<String>,
    read_at: Option<String>,
}

/// The progress of the first part that is not final.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgressView {
    failures: u32,
    throttled: u32,
    since: Option<String>,
    pub(crate) next_at: Option<String>,
    /// The lease of the current call of the provider.
    calling: Option<String>,
}

impl From<&Message> for MessageView {
    fn from(message: &Message) -> Self {
        let (text, template_id) = match &message.content {
            Content::Template(requested) => (None, Some(requested.template.to_string())),
            Content::Written { body, .. } => (body.as_ref().map(|body| body.as_str().to_owned()), None),
            Content::Received(received) => (received.text().map(str::to_owned), None),
        };
        Self {
            message_id: message.id.to_string(),
            conversation_id: message.conversation.to_string(),
            seq: message.seq,
            sent_by: message.sent_by.as_str(),
            broadcast: message.is_broadcast(),
            status: message.shown_status(),
            message_type: message.message_type().as_str(),
            content: view::message_content(message).and_then(|content| serde_json::to_value(content).ok()),
            message_body: text,
            template_id,
            media_ids: message.files().iter().map(|file| file.media.to_string()).collect(),
            reply_to_message_id: message.reply_to.map(|id| id.to_string()),
            parts: message.parts.iter().map(PartView::from).collect(),
            progress: ProgressView::from(&message.progress),
            created_at: message.created_at.to_string(),
            updated_at: message.updated_at.to_string(),
            version: message.version,
        }
    }
}

impl From<&Part> for PartView {
    fn from(part: &Part) -> Self {
        Self {
            recipient: part.recipient.to_string(),
            index: part.index,
            status: part.status.as_str(),
            provider_message_id: part.provider_message_id.clone(),
            error: ErrorView::of(part.error.as_ref()),
            delivered_at: part.delivered_at.map(|at| at.to_string()),
            read_at: part.read_at.map(|at| at.to_string()),
        }
    }
}

impl From<&Progress> for ProgressView {
    fn from(progress: &Progress) -> Self {
        Self {
            failures: progress.failures,
            throttled: progress.throttled,
            since: progress.since.map(|at| at.to_string()),
            next_at: progress.next_at.map(|at| at.to_string()),
            calling: progress.calling.map(|lease| lease.to_string()),
        }
    }
}

impl ProgressView {
    /// The table cell for the tries.
    pub(crate) fn tries(&self) -> String {
        format!("{} failed, {} throttled", self.failures, self.throttled)
    }
}

impl Shown for MessageView {
    const HEADINGS: &'static [&'static str] = &[
        "message",
        "conversation",
        "number",
        "sent by",
        "status",
        "type",
        "text",
        "content",
        "template",
        "media",
        "parts",
        "tries",
        "next at",
        "created",
        "updated",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.message_id.clone(),
            self.conversation_id.clone(),
            self.seq.to_string(),
            self.sent_by.to_owned(),
            self.status.to_owned(),
            self.message_type.to_owned(),
            or_dash(&self.message_body.as_deref().map(printable)),
            or_dash(&self.content.as_ref().map(|content| printable(&content.to_string()))),
            or_dash(&self.template_id),
            stacked(self.media_ids.clone()),
            stacked(self.parts.iter().map(PartView::line)),
            self.progress.tries(),
            or_dash(&self.progress.next_at),
            self.created_at.clone(),
            self.updated_at.clone(),
        ]
    }
}

/// A message in a list: the table has one line for each.
#[derive(Serialize)]
#[serde(transparent)]
struct MessageRow(MessageView);

impl MessageRow {
    /// The number of characters of a text that the table shows.
    const SHOWN: usize = 60;

    /// The beginning of the text, or what the message has instead.
    fn content(&self) -> String {
        let message = &self.0;
        match (&message.message_body, &message.template_id) {
            (Some(text), _) => {
                let beginning: String = text.chars().take(Self::SHOWN).collect();
                let more = if beginning.len() < text.len() { "..." } else { "" };
                format!("{}{more}", printable(&beginning))
            }
            (None, Some(template)) => format!("template {template}"),
            (None, None) if message.content.is_some() => message.message_type.to_owned(),
            (None, None) => format!("{} files", message.media_ids.len()),
        }
    }

    /// The errors of its parts, each once.
    fn errors(&self) -> Option<String> {
        let errors: BTreeSet<String> = self.0.parts.iter().filter_map(|part| part.error.cell()).collect();
        (!errors.is_empty()).then(|| errors.into_iter().collect::<Vec<_>>().join(", "))
    }
}

impl Shown for MessageRow {
    const HEADINGS: &'static [&'static str] =
        &["number", "message", "sent by", "status", "error", "text", "created"];

    fn cells(&self) -> Vec<String> {
        let message = &self.0;
        vec![
            message.seq.to_string(),
            message.message_id.clone(),
            message.sent_by.to_owned(),
            message.status.to_owned(),
            or_dash(&self.errors()),
            self.content(),
            message.created_at.clone(),
        ]
    }
}

impl PartView {
    fn line(&self) -> String {
        let end = self.error.cell().or_else(|| self.provider_message_id.clone());
        let end = end.map(|end| format!(" {end}")).unwrap_or_default();
        format!("{} #{} {}{end}", self.recipient, self.index, self.status)
    }
}
