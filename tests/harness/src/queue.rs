//! SQS for one test: a real client whose requests are answered from memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_credential_types::Credentials;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Region, StalledStreamProtectionConfig};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::turns::Turns;
use crate::wire::operation_of;

/// A queued message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The name of its queue, which is the end of the queue's URL.
    pub queue: String,
    /// The message body.
    pub body: String,
    /// The message group id.
    pub group: String,
    /// The delay in seconds.
    pub delay: u64,
}

/// A queue for one test, without a server. It keeps the messages that were sent, or refuses them if the test asks for
/// it.
#[derive(Clone, Debug, Default)]
pub struct TestQueue(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    messages: Vec<Queued>,
    closed: bool,
    stalled: bool,
    refuse_next: usize,
    /// A text that no message may hold.
    forbidden: Option<String>,
    /// Decides about each call, in a simulation.
    turns: Option<Arc<dyn Turns>>,
}

impl TestQueue {
    /// A client for this queue. Every queue URL leads to it.
    pub fn client(&self) -> Client {
        let connector = SharedHttpConnector::new(self.clone());
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
            .endpoint_url("http://queue.invalid")
            .retry_config(RetryConfig::disabled())
            // It looks at the clock of the machine, which a simulation must not.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build();
        Client::from_conf(config)
    }

    /// Removes and returns all queued messages, oldest first.
    pub fn take(&self) -> Vec<Queued> {
        std::mem::take(&mut self.state().messages)
    }

    /// Switches whether every call fails.
    pub fn close(&self, closed: bool) {
        self.state().closed = closed;
    }

    /// Switches whether calls hang. A call that hangs queues nothing.
    pub fn stall(&self, stalled: bool) {
        self.state().stalled = stalled;
    }

    /// Refuses the next `messages` messages, within calls that succeed.
    pub fn refuse_next(&self, messages: usize) {
        self.state().refuse_next = messages;
    }

    /// Refuses each call with a message that holds this text, as SQS does for some characters.
    pub fn forbid(&self, text: &str) {
        self.state().forbidden = Some(text.to_owned());
    }

    /// Lets `turns` decide about each call from now on.
    pub fn take_turns(&self, turns: Arc<dyn Turns>) {
        self.state().turns = Some(turns);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Value) -> (u16, Value) {
        let mut state = self.state();
        if state.closed {
            let denied = json!({ "__type": "com.amazonaws.sqs#KmsAccessDenied", "message": "closed" });
            return (400, denied);
        }
        let is_forbidden = |entry: &Value| {
            entry["MessageBody"]
                .as_str()
                .zip(state.forbidden.as_deref())
                .is_some_and(|(body, text)| body.contains(text))
        };
        if request["Entries"].as_array().into_iter().flatten().any(is_forbidden) {
            return (400, json!({ "__type": "com.amazonaws.sqs#InvalidMessageContents", "message": "" }));
        }
        let url = request["QueueUrl"].as_str().unwrap_or_default();
        let queue = url.rsplit('/').next().unwrap_or_default();
        let (mut successful, mut failed) = (vec![], vec![]);
        for entry in request["Entries"].as_array().into_iter().flatten() {
            if state.refuse_next > 0 {
                state.refuse_next -= 1;
                failed.push(json!({ "Id": entry["Id"], "Code": "InternalError", "SenderFault": false }));
                continue;
            }
            successful.push(json!({ "Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "" }));
            state.messages.push(Queued {
                queue: queue.to_owned(),
                body: entry["MessageBody"].as_str().unwrap_or_default().to_owned(),
                group: entry["MessageGroupId"].as_str().unwrap_or_default().to_owned(),
                delay: entry["DelaySeconds"].as_u64().unwrap_or_default(),
            });
        }
        (200, json!({ "Successful": successful, "Failed": failed }))
    }
}

impl HttpConnector for TestQueue {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if self.state().stalled {
            return HttpConnectorFuture::new(std::future::pending());
        }
        let body: Value =
            serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let turns = self.state().turns.clone();
        let Some(turn) = turns.map(|turns| turns.turn(&operation_of(&request), &body)) else {
            return HttpConnectorFuture::ready(Ok(response(&self.answer(&body))));
        };
        let queue = self.clone();
        HttpConnectorFuture::new(async move {
            turn.before.await;
            let lost = || ConnectorError::timeout("no answer in time".into());
            let answer = match turn.fault.filter(|fault| fault.is_of_every_service()) {
                Some(Fault::AnswerLost) => {
                    queue.answer(&body);
                    Err(lost())
                }
                Some(Fault::Throttled) => {
                    Ok((400, json!({ "__type": "com.amazonaws.sqs#RequestThrottled", "message": "" })))
                }
                Some(_) => Err(ConnectorError::io("connection refused".into())),
                None => Ok(queue.answer(&body)),
            };
            (turn.after)(&format!("{:?}", answer.as_ref().map(|(status, _)| status))).await;
            answer.map(|answer| response(&answer))
        })
    }
}

fn response((status, body): &(u16, Value)) -> HttpResponse {
    let status = StatusCode::try_from(*status).unwrap_or_else(|_| unreachable!("every status here is valid"));
    HttpResponse::new(status, SdkBody::from(body.to_string()))
}
