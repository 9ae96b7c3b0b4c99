//! The WhatsApp Cloud API, as far as the service needs it: sends, webhooks and files.

mod files;
mod inbound;
mod line;
mod person;
mod statuses;
mod templates;
mod webhooks;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::http_server::{Answer, Asked, Reaction, Server, empty, json as json_answer, show_ledger};
use super::ledger::{Ledger, joined, now, path, since_epoch};
use super::whatsapp::{self, Fault, Recipient};
use files::{DOWNLOADS, Download, Files};
pub use line::WebhookChange;
use person::CustomerIds;
use statuses::{Accepted, course, message_status, pricing};
pub use templates::{Changed, Templates};
use webhooks::{NotPosted, Poster, Webhooks};

pub use webhooks::{Posted, SimulatedApp, WebhookState};

/// A running Cloud API. Dropping it ends it.
///
/// `POST /<version>/<phone-number-id>/messages` with a bearer token accepts every message that follows the Cloud
/// API's rules and returns a unique message id. The last four digits of the recipient can select another answer:
///
/// | digits | answer |
/// |---|---|
/// | `0001` | 400, error 131026: the recipient cannot be reached |
/// | `0002` | 429, error 130429, twice for each message; then it is accepted |
/// | `0003` | none: the request is read, the connection stays open |
/// | `0004` | 500, error 1, once for each message; then it is accepted |
/// | `0005` | none: the request is read, the connection closed |
/// | `0006` | 404, error 132001: the template does not exist |
///
/// Two requests are tries of the same message if recipient and body are equal. The part of a file's link after the
/// `?` is ignored, because each try signs the link anew. After acceptance, the count of tries starts again.
///
/// The templates of an account can be registered: `PUT /templates/<business-account-id>`. Then a template that one of the account's
/// lines sends is judged against them, and `GET /<version>/<account>/message_templates` and `GET /<version>/<template-id>` show them.
/// `GET /<version>/<account>/phone_numbers` shows the lines.
/// `POST /templates/<business-account-id>` changes one as somebody at Meta would. A line of no such account may send any template
/// whose body takes values by their places.
///
/// If it has a [`SimulatedApp`], it posts webhooks to it: statuses of the messages that it accepted, and what
/// `POST /inbound` asks for. `GET /webhooks` shows them. The last four digits of the recipient select the statuses:
///
/// | digits | statuses |
/// |---|---|
/// | `0007` | sent, delivered |
/// | `0008` | sent, delivered, read |
/// | `0009` | sent, failed with error 131026 |
/// | `0010` | read, sent, delivered, read, delivered, sent |
/// | `0011` | sent, delivered, both before the answer |
/// | `9013` | none; the answer says `held_for_quality_assessment` |
/// | `9014` | failed with error 132015; the answer says `held_for_quality_assessment` |
/// | any other | sent |
#[derive(Debug)]
pub struct Provider {
    server: Server,
    meta: Arc<Meta>,
    _poster: Poster,
}

/// The time between the answer of a call and the first status of its message.
const BEFORE_STATUSES: Duration = Duration::from_millis(200);
/// The time before the bytes of a slow file.
const SLOW: Duration = Duration::from_secs(60);

/// The state of the provider.
#[derive(Debug)]
struct Meta {
    ledger: Ledger<Call>,
    messages: Messages,
    files: Files,
    templates: Templates,
    webhooks: Webhooks,
}

/// A call, as received, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The time when the request was read completely (UTC, milliseconds).
    pub at: String,
    /// The method, in upper case.
    pub method: String,
    /// The path, with its query if it has one.
    pub path: String,
    /// The headers, with names in lower case. The values of a repeated header are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The body. `null` if it is not JSON.
    pub body: Value,
    /// The answer. `null` if there was none.
    pub answer: Option<Answered>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Provider {
    /// Starts it on this port of 127.0.0.1 (0 selects a free one).
    ///
    /// # Errors
    /// If the port is taken.
    pub async fn start(port: u16) -> io::Result<Self> {
        let (webhooks, poster) = Webhooks::start();
        let (messages, files, templates) = Default::default();
        let meta = Arc::new(Meta { ledger: Ledger::new(), messages, files, templates, webhooks });
        let answering = Arc::clone(&meta);
        let server = Server::plain(port, move |asked| {
            let meta = Arc::clone(&answering);
            async move { meta.respond(&asked).await }
        })
        .await?;
        Ok(Self { server, meta, _poster: poster })
    }

    /// The origin, without a trailing slash. `/ledger` on it shows the calls, and `/webhooks` the webhooks.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    /// The calls that the simulator got.
    pub fn ledger(&self) -> &Ledger<Call> {
        &self.meta.ledger
    }

    /// The newest 10,000 webhooks that the simulator made.
    pub fn webhooks(&self) -> &Ledger<Posted> {
        self.meta.webhooks.ledger()
    }

    /// Posts webhooks to this app from now on. Pending ones go to it as well. `PUT /app` does the same.
    pub fn set_app(&self, app: SimulatedApp) {
        self.meta.webhooks.set_app(app);
    }

    /// Registers the templates of a business account: `{phoneNumberIds, data}`. `PUT /templates/<id>` does the same.
    ///
    /// # Errors
    /// If the registry is wrong: the reason.
    pub fn set_templates(&self, account: &str, registry: &Value) -> Result<Value, String> {
        self.meta.templates.set(account, registry)
    }

    /// Does with a template what somebody at Meta would, and posts no webhook: `{command, name, language}`.
    ///
    /// # Errors
    /// If there is no such template or command: the reason.
    pub fn change_template(&self, account: &str, command: &Value) -> Result<(), String> {
        self.meta.templates.command(account, command).map(drop)
    }
}

impl Meta {
    async fn respond(&self, asked: &Asked) -> Reaction {
        match asked.uri.path() {
            "/ledger" => return Some(show_ledger(&self.ledger, &asked.method)),
            "/webhooks" if asked.method == Method::POST => return Some(self.repeat()),
            "/webhooks" => return Some(show_ledger(self.webhooks.ledger(), &asked.method)),
            "/app" => return Some(self.change_app(asked)),
            "/inbound" => return Some(self.inbound(asked).await),
            _ => {}
        }
        if let ["templates", account] = asked.segments()[..] {
            return Some(self.registry(asked, account).await);
        }
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let reaction = self.react(asked, &body);
        let answer = match &reaction {
            React::Answer(answered) | React::Accept(answered, _) => Some(answered.clone()),
            React::Download(_) => Some(Answered { status: 200, body: Value::Null }),
            React::Hang | React::Close => None,
        };
        self.ledger.record(Call {
            at: now(),
            method: asked.method.to_string(),
            path: path(&asked.uri),
            headers: joined(&asked.headers),
            body,
            answer,
        });
        match reaction {
            React::Answer(answered) => Some(answered.as_answer()),
            React::Accept(answered, message) => {
                self.post_statuses(&message).await;
                Some(answered.as_answer())
            }
            React::Download(file) => Some(download(file).await),
            // The call hangs until the client closes the connection.
            React::Hang => std::future::pending().await,
            React::Close => None,
        }
    }

    fn react(&self, asked: &Asked, body: &Value) -> React {
        if asked.uri.path() == DOWNLOADS && asked.method == Method::GET {
            return self.download(asked);
        }
        match asked.segments()[..] {
            [_version, line, "messages"] => self.send(asked, line, body),
            [_version, account, "message_templates"] if asked.method == Method::GET => {
                self.list_templates(asked, account)
            }
            [_version, account, "phone_numbers"] if asked.method == Method::GET => self.list_lines(asked, account),
            [_version, id] if asked.method == Method::GET => self.look_up(asked, id),
            _ => refused(&Fault::INVALID.because(
                "Unsupported request: the only paths are .../messages, .../message_templates, .../phone_numbers, ids and files' URLs.",
            )),
        }
    }

    fn send(&self, asked: &Asked, line: &str, body: &Value) -> React {
        if asked.method != Method::POST {
            return refused(&Fault::INVALID.because("Unsupported request: use POST for messages."));
        }
        if !has_bearer_token(asked) {
            return refused(&Fault::TOKEN.because("The access token is missing."));
        }
        let to = match whatsapp::recipient(body) {
            Ok(to) => to,
            Err(fault) => return refused(&fault),
        };
        if let Err(fault) = self.templates.judge(line, body) {
            return refused(&fault);
        }
        let messages = &self.messages;
        let digits = to.as_str();
        let behaviour =
            BEHAVIOURS.iter().find(|(last, _)| digits.ends_with(last)).map(|(_, behaviour)| behaviour);
        match behaviour {
            None => messages.accept(line, to, body),
            Some(Behaviour::Refuses(fault)) => refused(fault),
            Some(Behaviour::RefusesFirst(times, fault)) if messages.tried(digits, body) <= *times => {
                refused(fault)
            }
            Some(Behaviour::RefusesFirst(..)) => messages.accept(line, to, body),
            Some(Behaviour::Hangs) => React::Hang,
            Some(Behaviour::Closes) => React::Close,
        }
    }

    fn look_up(&self, asked: &Asked, id: &str) -> React {
        if !has_bearer_token(asked) {
            return refused(&Fault::TOKEN.because("The access token is missing."));
        }
        let template = self.templates.one(id, asked.uri.query().unwrap_or_default());
        answered(template.unwrap_or_else(|| self.files.look_up(id, &origin(asked))))
    }

    fn list_templates(&self, asked: &Asked, account: &str) -> React {
        if !has_bearer_token(asked) {
            return refused(&Fault::TOKEN.because("The access token is missing."));
        }
        let url = format!("{}{}", origin(asked), asked.uri.path());
        answered(self.templates.page(account, asked.uri.query().unwrap_or_default(), &url))
    }

    fn list_lines(&self, asked: &Asked, account: &str) -> React {
        if !has_bearer_token(asked) {
            return refused(&Fault::TOKEN.because("The access token is missing."));
        }
        answered(self.templates.lines(account, asked.uri.query().unwrap_or_default()))
    }

    fn download(&self, asked: &Asked) -> React {
        if !has_bearer_token(asked) {
            return refused(&Fault::TOKEN.because("The access token is missing."));
        }
        match self.files.download(asked.uri.query().unwrap_or_default()) {
            Some(file) => React::Download(file),
            None => React::Answer(Answered { status: 404, body: Value::Null }),
        }
    }

    /// Posts the statuses of a message. Without an app, there are none.
    async fn post_statuses(&self, message: &Accepted) {
        let course = course(&message.to);
        let delay = if course.is_before_answer { Duration::ZERO } else { BEFORE_STATUSES };
        if let Ok(statuses) = self.webhooks.post(delay, course.webhooks(message))
            && course.is_before_answer
        {
            statuses.delivered().await;
        }
    }

    /// Posts all webhooks of the ledger again, as the provider may do for days.
    fn repeat(&self) -> Answer {
        let shown = self.webhooks.ledger().entries();
        let count = shown.len();
        // Each one is a series of its own, so they do not wait for each other.
        for webhook in shown.into_iter().rev() {
            if let Err(why) = self.webhooks.post(Duration::ZERO, vec![webhook.body]) {
                return not_posted(why);
            }
        }
        json_answer(StatusCode::OK, &json!({ "webhooks": count }))
    }

    fn change_app(&self, asked: &Asked) -> Answer {
        if asked.method != Method::PUT {
            return problem(StatusCode::METHOD_NOT_ALLOWED, "use PUT with {appId, appSecret, webhookUrl}");
        }
        let app = serde_json::from_slice(&asked.body).map_err(|error| error.to_string());
        let checked = app.and_then(|app: SimulatedApp| app.check().map(|()| app).map_err(str::to_owned));
        match checked {
            Ok(app) => {
                self.webhooks.set_app(app);
                empty(StatusCode::NO_CONTENT)
            }
            Err(why) => problem(StatusCode::BAD_REQUEST, &why),
        }
    }

    /// Sets or shows the templates of an account, or does something with one of them.
    async fn registry(&self, asked: &Asked, account: &str) -> Answer {
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        match asked.method {
            Method::GET => match self.templates.show(account) {
                Some(registry) => json_answer(StatusCode::OK, &registry),
                None => problem(StatusCode::NOT_FOUND, "the account has no registry: PUT sets one"),
            },
            Method::PUT => match self.templates.set(account, &body) {
                Ok(data) => json_answer(StatusCode::OK, &json!({ "data": data })),
                Err(why) => problem(StatusCode::BAD_REQUEST, &why),
            },
            Method::POST => match self.templates.command(account, &body) {
                Ok(changed) => self.told(changed).await,
                Err(why) => problem(StatusCode::BAD_REQUEST, &why),
            },
            _ => problem(StatusCode::METHOD_NOT_ALLOWED, "use GET, PUT or POST"),
        }
    }

    /// Posts the webhook of a command, and answers when it is delivered, or after five seconds. Without an app, none is posted.
    async fn told(&self, Changed { template, change }: Changed) -> Answer {
        let webhook = change.map(|change| line::webhook(&[change]));
        let posted = webhook.and_then(|webhook| self.webhooks.post(Duration::ZERO, vec![webhook]).ok());
        let number = posted.as_ref().and_then(|posted| posted.numbers.first().copied());
        if let Some(posted) = posted {
            posted.delivered().await;
        }
        let webhook = self.webhooks.ledger().newest(|webhook| Some(webhook.number) == number);
        json_answer(
            StatusCode::OK,
            &json!({
                "template": template,
                "webhook": number,
                "state": webhook.as_ref().map(|webhook| webhook.state),
            }),
        )
    }

    /// Posts what a customer does, and answers when the webhook is delivered, or after five seconds.
    async fn inbound(&self, asked: &Asked) -> Answer {
        if asked.method != Method::POST {
            return problem(StatusCode::METHOD_NOT_ALLOWED, "use POST");
        }
        let given = inbound::Given { now: since_epoch().as_secs(), number: &|| self.messages.next_number() };
        let inbound = match inbound::read(&asked.body, &given) {
            Ok(inbound) => inbound,
            Err(why) => return problem(StatusCode::BAD_REQUEST, &why),
        };
        // The files come first, because the app may look them up at once.
        inbound.files.into_iter().for_each(|file| self.files.keep(file));
        let posted = match self.webhooks.post(Duration::ZERO, vec![line::webhook(&inbound.changes)]) {
            Ok(posted) => posted,
            Err(why) => return not_posted(why),
        };
        let number = posted.numbers.first().copied();
        posted.delivered().await;
        let webhook = self.webhooks.ledger().newest(|webhook| Some(webhook.number) == number);
        json_answer(
            StatusCode::OK,
            &json!({
                "messages": inbound.ids.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>(),
                "webhook": number,
                "state": webhook.as_ref().map(|webhook| webhook.state),
                "answers": webhook.as_ref().map(|webhook| &webhook.answers),
            }),
        )
    }
}

impl Answered {
    fn as_answer(&self) -> Answer {
        json_answer(StatusCode::from_u16(self.status).unwrap_or_default(), &self.body)
    }
}

async fn download(file: Download) -> Answer {
    if file.is_slow {
        tokio::time::sleep(SLOW).await;
    }
    let mut answer = Response::new(Full::new(file.bytes));
    if let Ok(mime_type) = HeaderValue::from_str(&file.mime_type) {
        answer.headers_mut().insert(CONTENT_TYPE, mime_type);
    }
    answer
}

fn not_posted(why: NotPosted) -> Answer {
    let status = match why {
        NotPosted::NoApp => StatusCode::CONFLICT,
        NotPosted::Full => StatusCode::SERVICE_UNAVAILABLE,
    };
    problem(status, &why.to_string())
}

fn problem(status: StatusCode, why: &str) -> Answer {
    json_answer(status, &json!({ "error": why }))
}

enum React {
    Answer(Answered),
    /// The answer, and the message that it accepts.
    Accept(Answered, Accepted),
    Download(Download),
    Hang,
    Close,
}

enum Behaviour {
    Refuses(Fault),
    /// Refuses this number of first tries of each message.
    RefusesFirst(u32, Fault),
    Hangs,
    Closes,
}

/// The behaviour for the last four digits of a recipient.
static BEHAVIOURS: [(&str, Behaviour); 6] = [
    ("0001", Behaviour::Refuses(Fault::UNDELIVERABLE)),
    ("0002", Behaviour::RefusesFirst(2, Fault::RATE_LIMIT)),
    ("0003", Behaviour::Hangs),
    ("0004", Behaviour::RefusesFirst(1, Fault::UNKNOWN_ERROR)),
    ("0005", Behaviour::Closes),
    ("0006", Behaviour::Refuses(Fault::NO_TEMPLATE)),
];

/// The state of the messages so far.
#[derive(Debug, Default)]
struct Messages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The last number that is part of an id.
    number: u64,
    /// The number of tries of messages that are not accepted yet, by recipient and body.
    tries: HashMap<(String, String), u32>,
}

impl Messages {
    /// Counts a try of a message, from 1.
    fn tried(&self, to: &str, body: &Value) -> u32 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tries = state.tries.entry(message(to, body)).or_default();
        *tries += 1;
        *tries
    }

    fn accept(&self, line: &str, to: Recipient, body: &Value) -> React {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.tries.remove(&message(to.as_str(), body));
        state.number += 1;
        let id = format!("wamid.{}", STANDARD.encode(format!("{}-{}", to.as_str(), state.number)));
        // As at Meta, the answer names the recipient only in the way in which the call did.
        let contact = match &to {
            Recipient::Number(digits) => {
                json!({ "input": body["to"], "wa_id": CustomerIds::of_number(digits).wa_id })
            }
            Recipient::UserId(user_id) => json!({ "input": user_id, "user_id": user_id }),
        };
        let answered = Answered {
            status: 200,
            body: json!({
                "messaging_product": "whatsapp",
                "contacts": [contact],
                "messages": [{ "id": id, "message_status": message_status(&to) }],
            }),
        };
        let callback_data = body["biz_opaque_callback_data"].as_str().map(str::to_owned);
        let (line, at) = (line.to_owned(), since_epoch().as_secs());
        React::Accept(answered, Accepted { line, id, to, callback_data, pricing: pricing(body), at })
    }

    /// A number that is part of no other id.
    fn next_number(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.number += 1;
        state.number
    }
}

/// The identity of a message: its recipient and its body, without the query of a link.
fn message(to: &str, body: &Value) -> (String, String) {
    let mut body = body.clone();
    if let Some(Value::String(link)) =
        body.as_object_mut().into_iter().flatten().find_map(|(_, part)| part.get_mut("link"))
    {
        link.truncate(link.find('?').unwrap_or(link.len()));
    }
    (to.to_owned(), body.to_string())
}

fn has_bearer_token(asked: &Asked) -> bool {
    asked
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|token| !token.is_empty())
}

/// The origin under which the caller reached the simulator.
fn origin(asked: &Asked) -> String {
    let host = asked.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1");
    format!("http://{host}")
}

fn answered(found: Result<Value, Fault>) -> React {
    match found {
        Ok(body) => React::Answer(Answered { status: 200, body }),
        Err(fault) => refused(&fault),
    }
}

fn refused(fault: &Fault) -> React {
    React::Answer(Answered { status: fault.status, body: fault.body() })
}
