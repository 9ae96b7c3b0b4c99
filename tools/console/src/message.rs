//! `console message ...`

use std::collections::BTreeSet;

use clap::Subcommand;
use domain::message::Content;
use domain::sending::Progress;
use domain::{Message, MessageId, Part};
use edge::view;

use crate::conversation::{OneConversation, known};
use crate::output::{Output, Report};
use crate::paging::{Limit, Listed};
use crate::refusal::Named;
use crate::unsent;
use crate::view::{View, beginning};
use crate::{Console, Result};

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
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::List { of, limit, after } => {
                find(console, &of, &limit, after).await?.report(row, |message| message.id)
            }
            Self::Show { one, message } => {
                let workspace = console.workspace(&one.within).await?;
                let found = console.store.message(workspace.id, one.conversation, message).await?;
                details(&Named::Message.found(found, message)?).into()
            }
        })
    }
}

async fn find(
    console: &Console,
    of: &OneConversation,
    limit: &Limit,
    after: Option<MessageId>,
) -> Result<Listed<Message>> {
    let (store, workspace) = (&console.store, console.workspace(&of.within).await?.id);
    known(store, workspace, of.conversation).await?;
    let before = match after {
        None => None,
        Some(id) => {
            let last = store.message(workspace, of.conversation, id).await?;
            let last = Named::Message.found(last, id)?;
            Some((last.created_at, last.seq))
        }
    };
    let found = store.messages_before(workspace, of.conversation, before, limit.rows() + 1).await?;
    Ok(Listed::of(found, limit))
}

fn details(message: &Message) -> View {
    let content = view::message_content(message).and_then(|content| serde_json::to_value(content).ok());
    View::new()
        .text("messageId", "message", message.id)
        .text("conversationId", "conversation", message.conversation)
        .value("seq", "number", message.seq)
        .text("sentBy", "sent by", message.sent_by.as_str())
        .json("broadcast", message.is_broadcast())
        .text("status", "status", message.shown_status())
        .text("type", "type", message.message_type().as_str())
        .value("messageBody", "text", text_of(message))
        // A customer's content that is neither text nor a file.
        .value("content", "content", content)
        .value("templateId", "template", template_of(message))
        .value("mediaIds", "media", media_of(message))
        .json("replyToMessageId", message.reply_to.map(|id| id.to_string()))
        .json("parts", message.parts.iter().map(part_view).collect::<Vec<_>>())
        .lines("parts", message.parts.iter().map(part_line))
        .json("progress", progress_view(&message.progress))
        .cell("tries", tries(&message.progress))
        .lines("next at", message.progress.next_at.map(|at| at.to_string()))
        .text("createdAt", "created", message.created_at)
        .text("updatedAt", "updated", message.updated_at)
        .json("version", message.version)
}

/// A message in a list: the table has the beginning of its text and each error of its parts once.
fn row(message: &Message) -> View {
    let errors: BTreeSet<String> =
        message.parts.iter().filter_map(|part| unsent::in_words(part.error.as_ref())).collect();
    let has_content = view::message_content(message).is_some();
    let text = match (text_of(message), template_of(message)) {
        (Some(text), _) => beginning(text, 60),
        (None, Some(template)) => format!("template {template}"),
        (None, None) if has_content => message.message_type().as_str().to_owned(),
        (None, None) => format!("{} files", message.files().len()),
    };
    details(message)
        .without_cells()
        .cell("number", message.seq.to_string())
        .cell("message", message.id.to_string())
        .cell("sent by", message.sent_by.as_str())
        .cell("status", message.shown_status())
        .cell("error", errors.into_iter().collect::<Vec<_>>().join(", "))
        .cell("text", text)
        .cell("created", message.created_at.to_string())
}

fn text_of(message: &Message) -> Option<&str> {
    match &message.content {
        Content::Template(_) => None,
        Content::Written { body, .. } => body.as_ref().map(|body| body.as_str()),
        Content::Received(received) => received.text(),
    }
}

fn template_of(message: &Message) -> Option<String> {
    match &message.content {
        Content::Template(content) => Some(content.template.to_string()),
        Content::Written { .. } | Content::Received(_) => None,
    }
}

fn media_of(message: &Message) -> Vec<String> {
    message.files().iter().map(|file| file.media.to_string()).collect()
}

fn part_view(part: &Part) -> View {
    let priced = part.pricing.as_ref().map(|priced| view::pricing(&priced.pricing));
    View::new()
        .json("recipient", part.recipient.to_string())
        .json("index", part.index)
        .json("status", part.status.as_str())
        .json("providerMessageId", part.provider_message_id.clone())
        .and(unsent::json_of(part.error.as_ref()))
        .json("held", part.is_held)
        .json("pricing", priced.and_then(|priced| serde_json::to_value(priced).ok()))
        .json("deliveredAt", part.delivered_at.map(|at| at.to_string()))
        .json("readAt", part.read_at.map(|at| at.to_string()))
}

fn part_line(part: &Part) -> String {
    let end = unsent::in_words(part.error.as_ref()).or_else(|| part.provider_message_id.clone());
    let end = end.map(|end| format!(" {end}")).unwrap_or_default();
    format!("{} #{} {}{end}", part.recipient, part.index, part.status.as_str())
}

/// The progress of the first part that is not final.
pub(crate) fn progress_view(progress: &Progress) -> View {
    View::new()
        .json("failures", progress.failures)
        .json("throttled", progress.throttled)
        .json("since", progress.since.map(|at| at.to_string()))
        .json("nextAt", progress.next_at.map(|at| at.to_string()))
        // The lease of the current call of the provider.
        .json("calling", progress.calling.map(|lease| lease.to_string()))
}

/// The table cell for the tries.
pub(crate) fn tries(progress: &Progress) -> String {
    format!("{} failed, {} throttled", progress.failures, progress.throttled)
}
