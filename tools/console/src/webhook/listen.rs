//! `console webhook listen`: forwards events to a developer's own server as they happen. It only reads.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;
use domain::webhook::{ForwardUrl, SigningSecret, SigningSecrets, signature};
use domain::{EndpointSecrets, EventFilter, EventId, EventType, Timestamp, Unfit, WorkspaceId};
use event_relay::{Derived, derive};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use rustls::RootCertStore;
use store::{ChangeFeed, RowChange, StoreError};

use super::endpoint::receiver_key;
use crate::arguments::{InWorkspace, secret_text};
use crate::output::Output;
use crate::refusal::deepest;
use crate::refusal::unfit;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Args)]
pub(crate) struct Listen {
    #[command(flatten)]
    within: InWorkspace,
    /// The URL of the server: https, or http on this machine (http://localhost:3000/hook, or localhost:3000/hook).
    #[arg(long, value_name = "URL", value_parser = forward_url)]
    forward_to: ForwardUrl,
    /// An event to forward; repeat for several [default: all events].
    #[arg(long = "event", value_name = "TYPE", value_parser = PossibleValuesParser::new(of_changes()))]
    events: Vec<String>,
    /// The value of X-Service-API-Key.
    #[arg(long, value_name = "KEY", default_value = "local")]
    api_key: String,
    /// A file that contains only the value of X-Service-API-Key; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "api_key")]
    api_key_file: Option<PathBuf>,
}

/// The types of events that a change of a row makes. The console records the others itself.
fn of_changes() -> Vec<&'static str> {
    const OTHERS: [EventType; 3] =
        [EventType::ContactErased, EventType::EventRedacted, EventType::WebhookTest];
    let is_of_change = |name: &&str| OTHERS.iter().all(|other| other.as_str() != *name);
    EventType::NAMES.iter().copied().filter(is_of_change).collect()
}

/// Parses a URL. Without a scheme, it is an http URL.
fn forward_url(text: &str) -> Result<ForwardUrl, Unfit> {
    let has_scheme = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    if has_scheme { ForwardUrl::parse(text) } else { ForwardUrl::parse(&format!("http://{text}")) }
}

/// The time between two looks at the streams. A shard bears five reads a second, and the relay makes four.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The time limit of a post, as in the service.
const POST: Duration = Duration::from_secs(30);
/// How many bytes of an answer are read, as in the service.
const MAX_READ: usize = 8 * 1024;

impl Listen {
    /// Forwards events until Ctrl-C. `secret` signs them.
    pub(crate) async fn run(
        self,
        console: &Console,
        secret: SigningSecret,
        output: &mut Output<'_>,
    ) -> Result {
        match self.until_stopped(console, secret, output).await {
            // The program that reads the lines needs no more of them.
            Err(Refusal::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            ended => ended,
        }
    }

    async fn until_stopped(
        self,
        console: &Console,
        secret: SigningSecret,
        output: &mut Output<'_>,
    ) -> Result {
        let api_key = secret_text(None, self.api_key_file.as_deref(), output)?.unwrap_or(self.api_key);
        let api_key = receiver_key(&api_key)?;
        let workspace = console.workspace(&self.within).await?.id;
        let filter = EventFilter::parse(self.events.iter().map(String::as_str))
            .map_err(unfit("The event is invalid"))?;
        let feed = ChangeFeed::open(&console.store, console.beside.streams()).await?;
        let listening = View::new()
            .text("forwardTo", "forward to", self.forward_to.as_str())
            .json("events", filter.names())
            .cell("events", filter.names().join(" "))
            .text("apiKey", "API key", api_key.expose())
            .text("secret", "signing secret", secret.expose());
        let secrets = EndpointSecrets { api_key, signing: SigningSecrets::only(secret) };
        let forwarder = Forwarder::new(self.forward_to, secrets)?;
        output.one(&listening)?;
        output.remark("Forwarding events until you press Ctrl-C.")?;
        let mut listener = Listener {
            console,
            workspace,
            filter,
            feed,
            forwarder,
            forwarded: 0,
            failed: 0,
            in_trouble: false,
        };
        tokio::select! {
            stopped = tokio::signal::ctrl_c() => stopped.map_err(Refusal::Output)?,
            refusal = listener.forward_all(output) => return Err(refusal),
        }
        output.remark(&listener.end())
    }
}

struct Listener<'a> {
    console: &'a Console,
    workspace: WorkspaceId,
    filter: EventFilter,
    feed: ChangeFeed,
    forwarder: Forwarder,
    forwarded: usize,
    /// How many of them the server did not acknowledge.
    failed: usize,
    /// Whether the last look failed, which was reported.
    in_trouble: bool,
}

impl Listener<'_> {
    /// Forwards events one by one. Ends only if the stack refuses a call, or if a line cannot be written.
    async fn forward_all(&mut self, output: &mut Output<'_>) -> Refusal {
        let mut rows: Vec<RowChange> = vec![];
        loop {
            let looked = self.look(&mut rows).await;
            if let Err(refusal) = self.report(looked, output).await {
                return refusal;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The events since the last look, in the order of their times. `rows` keeps changes whose events could not be
    /// derived because the stack was busy.
    async fn look(&mut self, rows: &mut Vec<RowChange>) -> (Vec<Derived>, Vec<String>, Option<StoreError>) {
        let changes = self.feed.look(self.workspace).await;
        rows.extend(changes.rows);
        let store = &self.console.store;
        let derived = match derive(store, self.workspace, rows, |of| self.filter.takes(of)).await {
            Ok(derived) => derived,
            Err(error) => return (vec![], vec![], Some(error)),
        };
        rows.clear();
        let (mut events, mut problems) = (vec![], vec![]);
        for event in derived {
            match event {
                Ok(event) => events.push(event),
                Err(error) => problems.push(format!("An event is left out: {error} ({}).", deepest(&error))),
            }
        }
        events.sort_by_key(|derived| derived.event.at);
        (events, problems, changes.failed)
    }

    async fn report(
        &mut self,
        (events, problems, failed): (Vec<Derived>, Vec<String>, Option<StoreError>),
        output: &mut Output<'_>,
    ) -> Result {
        for problem in problems {
            output.warn(&problem)?;
        }
        for derived in events {
            let forwarded = self.forwarder.post(&derived, self.console.store.now()).await;
            self.forwarded += 1;
            self.failed += usize::from(!forwarded.is_acknowledged());
            output.next(&forwarded.view())?;
        }
        match failed {
            None => self.in_trouble = false,
            // The next look tries again.
            Some(StoreError::Busy(_)) if self.in_trouble => {}
            Some(error @ StoreError::Busy(_)) => {
                self.in_trouble = true;
                output.warn(&format!("The changes cannot be read at the moment ({}).", deepest(&error)))?;
            }
            Some(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn end(&self) -> String {
        format!("Events forwarded: {}; not acknowledged: {}.", self.forwarded, self.failed)
    }
}

/// Posts events to the server, as the service does: without redirects and with the same headers.
struct Forwarder {
    client: reqwest::Client,
    url: ForwardUrl,
    secrets: EndpointSecrets,
}

impl Forwarder {
    fn new(url: ForwardUrl, secrets: EndpointSecrets) -> Result<Self> {
        let tls = outbound::tls(RootCertStore::empty()).map_err(|error| Refusal::Http(deepest(&error)))?;
        let client = outbound::client(tls, "Webhooks").timeout(POST).build();
        let client = client.map_err(|error| Refusal::Http(deepest(&error)))?;
        Ok(Self { client, url, secrets })
    }

    async fn post(&self, Derived { event, body }: &Derived, now: Timestamp) -> Forwarded {
        let begun = Instant::now();
        let signed = signature::headers(event.id, body, &self.secrets, now);
        let post = self.client.post(self.url.as_str()).header(ACCEPT, "*/*");
        let post = post.header(CONTENT_TYPE, "application/json").body(body.clone());
        let post = signed.iter().fold(post, |post, (name, value)| post.header(*name, value.expose()));
        let answer = post.send().await;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = match answer {
            Ok(answer) => {
                let status = answer.status().as_u16();
                read(answer).await;
                Ok(status)
            }
            Err(error) => Err(in_words(&error)),
        };
        Forwarded { at: now, event: event.id, event_type: event.event_type, outcome, took_ms }
    }
}

/// Reads the beginning of the body, so that the server can end its answer. The status alone decides.
async fn read(mut answer: reqwest::Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = answer.chunk().await {
        read += chunk.len();
        if read >= MAX_READ {
            break;
        }
    }
}

/// Why there was no answer.
fn in_words(error: &reqwest::Error) -> String {
    if error.is_timeout() { format!("no answer within {} s", POST.as_secs()) } else { deepest(error) }
}

/// A post and its outcome.
struct Forwarded {
    at: Timestamp,
    event: EventId,
    event_type: EventType,
    /// The status of the answer, or why there was none.
    outcome: Result<u16, String>,
    took_ms: u64,
}

impl Forwarded {
    fn is_acknowledged(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|status| (200..300).contains(status))
    }

    fn view(&self) -> View {
        let width = EventType::NAMES.iter().map(|name| name.len()).max().unwrap_or_default();
        let event_type = self.event_type.as_str();
        let (status, error) = (self.outcome.as_ref().ok().copied(), self.outcome.as_ref().err());
        View::new()
            .text("at", "time", self.at)
            .json("eventType", event_type)
            .cell("type", format!("{event_type:width$}"))
            .text("eventId", "event", self.event)
            .json("status", status)
            .json("error", error.cloned())
            .cell("outcome", self.outcome.as_ref().map_or_else(String::clone, u16::to_string))
            .json("tookMs", self.took_ms)
            .cell("took", format!("{} ms", self.took_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_machine_needs_no_scheme() {
        for (given, expected) in [
            ("localhost:3001", "http://localhost:3001/"),
            ("127.0.0.1:3001/hook?a=http://b", "http://127.0.0.1:3001/hook?a=http://b"),
            ("https://example.com/hook", "https://example.com/hook"),
        ] {
            assert_eq!(forward_url(given).unwrap().as_str(), expected);
        }
        for other in ["example.com/hook", "http://example.com/hook", "", ":3001"] {
            assert!(forward_url(other).is_err(), "{other}");
        }
    }
}
