//! SQS for one test: a real client whose requests end in a list.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_credential_types::Credentials;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

/// A message as it was queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The name that its queue's URL ends with.
    pub queue: String,
    /// Its body.
    pub body: String,
    /// Its message group.
    pub group: String,
    /// For how many seconds it is held back.
    pub delay: u64,
}

/// A queue of its own for one test, without servers: what is sent is kept, or refused on request.
#[derive(Clone, Debug, Default)]
pub struct TestQueue(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    messages: Vec<Queued>,
    closed: bool,
    stalled: bool,
    refuse_next: usize,
}

impl TestQueue {
    /// A client of this queue; any queue URL leads here.
    pub fn client(&self) -> Client {
        let connector = SharedHttpConnector::new(self.clone());
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
            .endpoint_url("http://queue.invalid")
            .retry_config(RetryConfig::disabled())
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build();
        Client::from_conf(config)
    }

    /// Takes the messages queued so far out of the queue, oldest first.
    pub fn take(&self) -> Vec<Queued> {
        std::mem::take(&mut self.state().messages)
    }

    /// From now on, or no longer: every call fails.
    pub fn close(&self, closed: bool) {
        self.state().closed = closed;
    }

    /// From now on, or no longer: calls never return, and nothing is queued.
    pub fn stall(&self, stalled: bool) {
        self.state().stalled = stalled;
    }

    /// Refuses so many of the next messages, within calls that succeed.
    pub fn refuse_next(&self, messages: usize) {
        self.state().refuse_next = messages;
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
        let body = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let (status, answer) = self.answer(&body);
        let status = StatusCode::try_from(status).unwrap_or_else(|_| unreachable!("both are statuses"));
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(answer.to_string()))))
    }
}
