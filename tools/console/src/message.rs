//! `console message ...`

use clap::Subcommand;
use domain::message::Content;
use domain::sending::Progress;
use domain::{Message, MessageId, Part};
use serde::Serialize;

use crate::conversation::OneConversation;
use crate::output::{Output, Shown, or_dash, stacked};
use crate::unsent::ErrorView;
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
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
            Self::Show { one, message } => {
                let workspace = console.workspace(one.within.workspace).await?;
                let found = console.store.message(workspace.id, one.conversation, message).await?;
                output.one(&MessageView::from(&found.ok_or(Refusal::UnknownMessage(message))?))
            }
        }
    }
}

/// A message with ids only, without its text.
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
        let (template_id, media_ids) = match &message.content {
            Content::Template(requested) => (Some(requested.template.to_string()), vec![]),
            Content::Written { media, .. } => {
                (None, media.iter().map(|attached| attached.media.to_string()).collect())
            }
        };
        Self {
            message_id: message.id.to_string(),
            conversation_id: message.conversation.to_string(),
            seq: message.seq,
            sent_by: message.sent_by.as_str(),
            broadcast: message.is_broadcast(),
            status: message.status().as_str(),
            template_id,
            media_ids,
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

impl PartView {
    fn line(&self) -> String {
        let end = self.error.cell().or_else(|| self.provider_message_id.clone());
        let end = end.map(|end| format!(" {end}")).unwrap_or_default();
        format!("{} #{} {}{end}", self.recipient, self.index, self.status)
    }
}
