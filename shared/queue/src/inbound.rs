//! The queue of what comes in from the messaging provider. Unlike a message that names a lane, a message of
//! this queue is the only copy of its content until it is processed.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use domain::encoding::sha256_hex;
use domain::{
    BusinessAccountId, ProviderApp, ProviderAppId, Timestamp, WorkspaceId, chunks_within, error_chain,
};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{NoQueue, Unreadable};

/// A piece of a provider's webhook that is to be processed.
#[derive(Clone, Debug, PartialEq)]
pub struct Inbound {
    /// The app that signed the webhook.
    pub app: ProviderAppId,
    /// The only workspace that the app speaks for.
    pub workspace: Option<WorkspaceId>,
    /// When the service received the webhook.
    pub received_at: Timestamp,
    /// The business account that the change is about.
    pub account: String,
    /// The kind of the change.
    pub field: String,
    /// The change, in the provider's form.
    pub value: Value,
    /// The places of messages among those of their customer and second, by the provider's ids of the messages. Without an
    /// entry, a message is the first.
    pub ranks: BTreeMap<String, u16>,
    /// Since when the service has asked for the files of messages, by the provider's ids of the messages. A piece that
    /// comes from a webhook has none.
    pub files_since: BTreeMap<String, Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    app_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace_id: Option<String>,
    received_at: i64,
    account: String,
    field: String,
    value: Value,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ranks: BTreeMap<String, u16>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files_since: BTreeMap<String, i64>,
}

impl Inbound {
    /// A piece of a webhook that this app signed, as it came.
    pub fn new(
        app: &ProviderApp,
        received_at: Timestamp,
        account: String,
        field: String,
        value: Value,
        ranks: BTreeMap<String, u16>,
    ) -> Self {
        let (app, workspace) = (app.id.clone(), app.workspace);
        Self { app, workspace, received_at, account, field, value, ranks, files_since: BTreeMap::new() }
    }

    /// A piece that the service itself makes about this account.
    pub fn of_the_service(
        received_at: Timestamp,
        account: &BusinessAccountId,
        field: &str,
        value: Value,
    ) -> Self {
        Self {
            app: ProviderAppId::of_the_service(),
            workspace: None,
            received_at,
            account: account.as_str().to_owned(),
            field: field.to_owned(),
            value,
            ranks: BTreeMap::new(),
            files_since: BTreeMap::new(),
        }
    }

    /// The body of the queue message.
    pub fn body(&self) -> String {
        let body = Body {
            app_id: self.app.as_str().to_owned(),
            workspace_id: self.workspace.map(|workspace| workspace.to_string()),
            received_at: self.received_at.as_millis(),
            account: self.account.clone(),
            field: self.field.clone(),
            value: self.value.clone(),
            ranks: self.ranks.clone(),
            files_since: self.files_since.iter().map(|(id, at)| (id.clone(), at.as_millis())).collect(),
        };
        // Strings, numbers and parsed JSON always serialize.
        let json = serde_json::to_string(&body).unwrap_or_default();
        // SQS refuses a whole call because of one of these two characters. JSON has them in texts only.
        json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
    }

    /// The message group of the piece: its tenant, so that one tenant's broadcast does not delay the pieces of others. The
    /// workspace is not known yet if an app speaks for several, so a business account counts as a tenant then. Its id is the
    /// sender's text, and another app may use the same one. The digest with the app's id fits every queue.
    fn group(&self) -> String {
        match self.workspace {
            Some(workspace) => workspace.to_string(),
            None => sha256_hex(format!("{}#{}", self.app.as_str(), self.account).as_bytes()),
        }
    }

    /// Reads the body of a queue message. Fields of later releases are ignored.
    pub fn read(body: &str) -> Result<Self, Unreadable> {
        let body: Body = serde_json::from_str(body).map_err(|_| Unreadable)?;
        let workspace = body.workspace_id.as_deref().map(WorkspaceId::parse).transpose();
        Ok(Self {
            app: ProviderAppId::parse(&body.app_id).map_err(|_| Unreadable)?,
            workspace: workspace.map_err(|_| Unreadable)?,
            received_at: Timestamp::from_millis(body.received_at),
            account: body.account,
            field: body.field,
            value: body.value,
            ranks: body.ranks,
            files_since: body
                .files_since
                .into_iter()
                .map(|(id, at)| (id, Timestamp::from_millis(at)))
                .collect(),
        })
    }
}

/// The queue did not accept all messages of a webhook.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not accept a piece of the webhook: {0}")]
pub struct NotAccepted(String);

/// A message of the queue.
struct Message {
    /// The number of its piece.
    number: usize,
    body: String,
    group: String,
}

/// What SQS said to a call.
enum Answer {
    /// The numbers of the pieces that it refuses because of their content. It has the others.
    Taken(Vec<usize>),
    /// It refuses the call as a whole because of the content of a message.
    Refused,
}

/// The codes with which SQS refuses a call because of what a message holds, and not because of the caller or the time.
const CONTENT_REFUSED: [&str; 3] = ["InvalidMessageContents", "InvalidParameterValue", "BatchRequestTooLong"];

/// The queue of inbound pieces.
#[derive(Clone, Debug)]
pub struct InboundQueue {
    sqs: Client,
    url: String,
}

/// The greatest number of messages in one call: SQS's limit.
const MOST_ENTRIES: usize = 10;
/// The greatest number of bytes in one call. SQS accepts 1 MiB; a margin is left for its own overhead.
const MOST_BYTES: usize = 1_000_000;
/// The longest delay of a message in seconds: SQS's limit.
const MOST_DELAY: u64 = 900;

impl InboundQueue {
    /// The queue with this URL.
    pub fn new(sqs: Client, url: impl Into<String>) -> Self {
        Self { sqs, url: url.into() }
    }

    /// The queue of the stack with this name. It is for tools; functions get URLs.
    pub async fn of_stack(sqs: Client, stack: &str) -> Result<Self, NoQueue> {
        let name = format!("{stack}-inbox");
        match sqs.get_queue_url().queue_name(&name).send().await {
            Ok(answer) => Ok(Self::new(sqs, answer.queue_url.unwrap_or_default())),
            Err(error) => Err(NoQueue { name, reason: error_chain(&error) }),
        }
    }

    /// Puts all pieces on the queue. Returns the numbers of those that the queue refuses because of their content or size; it
    /// would refuse them again. Returns an error if another one was not accepted; the others may be on the queue then. One
    /// round trip: all calls are made at the same time. If a call is refused, its pieces are sent one after another.
    pub async fn send(&self, pieces: &[Inbound]) -> Result<Vec<usize>, NotAccepted> {
        self.put(pieces, 0).await
    }

    /// Puts all pieces on the queue, which hides them for this long: at most 15 minutes, in whole seconds. Returns an
    /// error if one of them was not accepted.
    pub async fn send_delayed(&self, pieces: &[Inbound], delay: Duration) -> Result<(), NotAccepted> {
        let delay = i32::try_from(delay.as_secs().min(MOST_DELAY)).unwrap_or_default();
        match self.put(pieces, delay).await?[..] {
            [] => Ok(()),
            _ => Err(NotAccepted("its content is refused".to_owned())),
        }
    }

    async fn put(&self, pieces: &[Inbound], delay: i32) -> Result<Vec<usize>, NotAccepted> {
        let message =
            |(number, piece): (usize, &Inbound)| Message { number, body: piece.body(), group: piece.group() };
        let messages = pieces.iter().enumerate().map(message);
        let (fitting, large): (Vec<Message>, Vec<Message>) =
            messages.partition(|message| message.body.len() <= MOST_BYTES);
        let batches = chunks_within(&fitting, MOST_ENTRIES, MOST_BYTES, |message| message.body.len());
        let refused = try_join_all(batches.into_iter().map(|batch| self.send_batch(batch, delay))).await?;
        Ok(large.iter().map(|message| message.number).chain(refused.concat()).collect())
    }

    /// The numbers of the messages that SQS refuses because of their content.
    async fn send_batch(&self, messages: &[Message], delay: i32) -> Result<Vec<usize>, NotAccepted> {
        if let Answer::Taken(refused) = self.call(messages, delay).await? {
            return Ok(refused);
        }
        let mut refused = vec![];
        for message in messages {
            match self.call(std::slice::from_ref(message), delay).await? {
                Answer::Taken(of_one) => refused.extend(of_one),
                Answer::Refused => refused.push(message.number),
            }
        }
        Ok(refused)
    }

    async fn call(&self, messages: &[Message], delay: i32) -> Result<Answer, NotAccepted> {
        let entry = |Message { number, body, group }: &Message| {
            let entry = SendMessageBatchRequestEntry::builder().id(number.to_string()).message_body(body);
            entry.message_group_id(group).set_delay_seconds((delay > 0).then_some(delay)).build()
        };
        let entries: Result<Vec<_>, _> = messages.iter().map(entry).collect();
        let entries = entries.map_err(|error| NotAccepted(error_chain(&error)))?;
        let call = self.sqs.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = match call.send().await {
            Ok(answer) => answer,
            Err(error) if is_about_content(&error) => return Ok(Answer::Refused),
            Err(error) => return Err(NotAccepted(error_chain(&error))),
        };
        let mut refused = vec![];
        for failed in answer.failed {
            match failed.id.parse() {
                Ok(number) if failed.sender_fault => refused.push(number),
                _ => return Err(NotAccepted(failed.code)),
            }
        }
        Ok(Answer::Taken(refused))
    }
}

fn is_about_content(error: &impl ProvideErrorMetadata) -> bool {
    error.code().is_some_and(|code| CONTENT_REFUSED.iter().any(|refused| code.contains(refused)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece() -> Inbound {
        Inbound {
            app: ProviderAppId::parse("1042").unwrap(),
            workspace: WorkspaceId::parse("3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90").ok(),
            received_at: Timestamp::from_millis(1_767_323_045_678),
            account: "1022".to_owned(),
            field: "messages".to_owned(),
            value: serde_json::json!({ "statuses": [] }),
            ranks: BTreeMap::from([("wamid.1".to_owned(), 2)]),
            files_since: BTreeMap::from([("wamid.1".to_owned(), Timestamp::from_millis(1_767_323_046_789))]),
        }
    }

    #[test]
    fn a_body_is_readable_and_may_have_fields_of_later_releases() {
        let plain =
            Inbound { workspace: None, ranks: BTreeMap::new(), files_since: BTreeMap::new(), ..piece() };
        for piece in [piece(), plain] {
            let body = piece.body();
            assert_eq!(Inbound::read(&body), Ok(piece.clone()));
            assert_eq!(Inbound::read(&body.replacen('{', r#"{"later":1,"#, 1)), Ok(piece));
        }
    }

    #[test]
    fn a_tenant_is_a_group_of_its_own() {
        let of_account = |app: &str, account: &str| Inbound {
            app: ProviderAppId::parse(app).unwrap(),
            account: account.to_owned(),
            workspace: None,
            ..piece()
        };
        let pieces = [
            piece(),
            of_account("1042", "1022"),
            of_account("1042", "1023"),
            of_account("1043", "1022"),
            of_account("1042", &"\u{1f600} ".repeat(9_000)),
        ];
        let groups: std::collections::BTreeSet<String> = pieces.iter().map(Inbound::group).collect();
        assert_eq!(groups.len(), pieces.len(), "{groups:?}");
        for group in &groups {
            assert!(group.len() <= 128 && group.bytes().all(|byte| byte.is_ascii_graphic()), "{group}");
        }
        let later = Inbound { value: Value::Null, received_at: Timestamp::from_millis(9), ..piece() };
        assert_eq!(later.group(), piece().group());
        let elsewhere = Inbound { account: "1023".to_owned(), ..piece() };
        assert_eq!(elsewhere.group(), piece().group(), "an app of one workspace has no other tenant");
    }

    #[test]
    fn a_body_has_no_character_that_sqs_refuses() {
        let is_permitted = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        let every: String = ('\0'..='\u{10ffff}').collect();
        let value = serde_json::json!({ "statuses": [every.clone()], every: 1 });
        let piece = Inbound { value, ..piece() };
        let body = piece.body();
        assert_eq!(body.chars().find(|character| !is_permitted(*character)), None);
        assert_eq!(Inbound::read(&body), Ok(piece));
    }

    #[test]
    fn another_body_is_refused() {
        let body = piece().body();
        for wrong in ["".to_owned(), "{}".to_owned(), body.replace("1042", "x"), body.replace("3f1b", "3f1")]
        {
            assert_eq!(Inbound::read(&wrong), Err(Unreadable), "{wrong}");
        }
    }
}
