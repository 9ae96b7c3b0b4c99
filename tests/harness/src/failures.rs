//! The failure bucket for one test: a real client whose requests are answered from memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::StalledStreamProtectionConfig;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use store::FailureBucket;

use crate::bucket::s3_over;

/// A failure bucket for one test. It needs no server and keeps its objects in memory. A page of a listing has two
/// objects.
#[derive(Clone, Debug, Default)]
pub struct TestFailures(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Last-modified time and content by key.
    objects: BTreeMap<String, (String, Vec<u8>)>,
    /// The metadata of objects that the service wrote, by key.
    metadata: BTreeMap<String, Vec<(String, String)>>,
    keeps: bool,
    closed: bool,
}

impl TestFailures {
    const HOST: &str = "https://failure-bucket.s3.eu-central-1.amazonaws.com/";
    const PAGE: usize = 2;
    /// The last-modified time of an object that the service wrote.
    const WRITTEN: &str = "2026-01-02T03:04:05.000Z";

    /// The bucket as the service uses it.
    pub fn bucket(&self) -> FailureBucket {
        let config = s3_over(self.clone())
            .retry_config(RetryConfig::disabled())
            // It looks at the clock of the machine, which a simulation must not.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        FailureBucket::new(Client::from_conf(config), "failure-bucket")
    }

    /// Puts an object with the given last-modified time (RFC 3339).
    pub fn put(&self, key: &str, at: &str, bytes: impl Into<Vec<u8>>) {
        self.state().objects.insert(key.to_owned(), (at.to_owned(), bytes.into()));
    }

    /// The keys of all objects.
    pub fn keys(&self) -> Vec<String> {
        self.state().objects.keys().cloned().collect()
    }

    /// The content of all objects.
    pub fn contents(&self) -> Vec<Vec<u8>> {
        self.state().objects.values().map(|(_, bytes)| bytes.clone()).collect()
    }

    /// Switches whether deletions are refused with `AccessDenied`.
    pub fn keep(&self, keeps: bool) {
        self.state().keeps = keeps;
    }

    /// Switches whether every call is refused with `AccessDenied`.
    pub fn close(&self, closed: bool) {
        self.state().closed = closed;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, method: &str, path: &str, query: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut state = self.state();
        let denied = || (403, b"<Error><Code>AccessDenied</Code></Error>".to_vec());
        if state.closed {
            return denied();
        }
        match (method, path) {
            ("GET", "") => (200, state.list(query).into_bytes()),
            ("GET", key) => match state.objects.get(key) {
                Some((_, bytes)) => (200, bytes.clone()),
                None => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            },
            ("PUT", key) => {
                let at =
                    state.objects.get(key).map_or_else(|| Self::WRITTEN.to_owned(), |(at, _)| at.clone());
                state.objects.insert(key.to_owned(), (at, body.to_vec()));
                (200, vec![])
            }
            ("HEAD", key) if state.objects.contains_key(key) => (200, vec![]),
            ("HEAD", _) => (404, vec![]),
            ("DELETE", _) if state.keeps => denied(),
            ("DELETE", key) => {
                state.objects.remove(key);
                (204, vec![])
            }
            _ => panic!("the service sends no {method} request to the failure bucket"),
        }
    }
}

impl State {
    fn list(&self, query: &str) -> String {
        let parameter = |name: &str| {
            let values = query.split('&').filter_map(|pair| pair.split_once('='));
            let value = values.filter(|(known, _)| *known == name).map(|(_, value)| value).next();
            value.unwrap_or_default().replace("%2F", "/")
        };
        let (prefix, from) = (parameter("prefix"), parameter("continuation-token"));
        let mut found = self.objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > from);
        let page: Vec<_> = found.by_ref().take(TestFailures::PAGE).collect();
        let mut xml = String::from("<ListBucketResult>");
        for (key, (at, _)) in &page {
            xml += &format!("<Contents><Key>{key}</Key><LastModified>{at}</LastModified></Contents>");
        }
        if let (Some((last, _)), Some(_)) = (page.last(), found.next()) {
            xml += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        xml + "</ListBucketResult>"
    }
}

impl HttpConnector for TestFailures {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (path, query) = request.uri().split_once('?').unwrap_or((request.uri(), ""));
        let Some(path) = path.strip_prefix(Self::HOST) else { panic!("{path} is not a URL of the bucket") };
        let sent = request.body().bytes().unwrap_or_default();
        let (status, body) = self.answer(request.method(), path, query, sent);
        let status =
            StatusCode::try_from(status).unwrap_or_else(|_| unreachable!("every status here is valid"));
        let mut response = HttpResponse::new(status, SdkBody::from(body));
        let mut state = self.state();
        if request.method() == "PUT" {
            let metadata = request.headers().iter().filter(|(name, _)| name.starts_with("x-amz-meta-"));
            let metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            state.metadata.insert(path.to_owned(), metadata);
        }
        if request.method() == "HEAD"
            && let Some((_, bytes)) = state.objects.get(path)
        {
            response.headers_mut().append("content-length", bytes.len().to_string());
            for (name, value) in state.metadata.get(path).into_iter().flatten() {
                response.headers_mut().append(name.clone(), value.clone());
            }
        }
        HttpConnectorFuture::ready(Ok(response))
    }
}
