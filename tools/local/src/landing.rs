//! A tenant's landing page at two origins: one from which the demo's first workspace accepts leads, and a foreign
//! one. The same servers serve the API reference.
//!
//! The page is an example to copy (`tools/local/landing`). It calls the lead capture API with the script that this API
//! serves.

use std::io;
use std::sync::{Arc, OnceLock};

use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reference::Deployed;
use serde::Serialize;
use url::Url;

use crate::simulator::http_server::{Answer, Asked, Server, answer, json, text};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Path, content type, content.
const FILES: [(&str, &str, &str); 3] = [
    ("/", HTML, include_str!("../landing/index.html")),
    ("/landing.css", CSS, include_str!("../landing/landing.css")),
    ("/landing.js", SCRIPT, include_str!("../landing/landing.js")),
];

/// The running servers of the page. Dropping it ends them.
#[derive(Debug)]
pub struct Landing {
    allowed: Server,
    foreign: Server,
    known: Arc<Known>,
}

/// What the servers learn while the stack starts.
#[derive(Debug, Default)]
struct Known {
    deployed: OnceLock<Deployed>,
    settings: OnceLock<Settings>,
}

/// The settings that the page requests from its own server: where it sends leads, and for which workspace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The URL of the lead capture API.
    pub capture_url: String,
    /// The workspace that gets the leads.
    pub workspace_id: String,
    /// The capture key of that workspace. It is not secret.
    pub capture_key: String,
    /// The brand of the leads. `None` means the workspace's default brand.
    pub brand_id: Option<String>,
    /// `simulated`: the page makes up tokens that the captcha simulator accepts.
    pub captcha: &'static str,
}

impl Landing {
    /// Starts the servers on these ports of 127.0.0.1 (0 selects a free one). Until [`open`](Self::open) is called,
    /// the request for the settings gets a 503.
    ///
    /// # Errors
    /// If a port is taken.
    pub async fn start(port: u16, foreign_port: u16) -> io::Result<Self> {
        let known = Arc::new(Known::default());
        let allowed = serve(port, &known).await?;
        let foreign = serve(foreign_port, &known).await?;
        Ok(Self { allowed, foreign, known })
    }

    /// The origin that may send leads, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.allowed.port())
    }

    /// The URL of the API reference.
    pub fn reference_url(&self) -> String {
        format!("{}/reference", self.url())
    }

    /// The origin that the workspace does not allow, without a trailing slash.
    pub fn foreign_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.foreign.port())
    }

    /// Lets the page send leads, from both origins. The first call wins.
    pub fn open(&self, settings: Settings) {
        let _ = self.known.settings.set(settings);
    }

    /// Lets the API reference name the deployment. The first call wins.
    pub fn describe(&self, deployed: Deployed) {
        let _ = self.known.deployed.set(deployed);
    }
}

async fn serve(port: u16, known: &Arc<Known>) -> io::Result<Server> {
    let known = Arc::clone(known);
    Server::plain(port, move |asked| {
        let answer = respond(&asked, &known);
        async move { Some(answer) }
    })
    .await
}

fn respond(asked: &Asked, known: &Known) -> Answer {
    let mut answer = content(asked, known);
    protect(answer.headers_mut(), known.settings.get());
    answer
}

fn content(asked: &Asked, known: &Known) -> Answer {
    if asked.method != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "the landing page accepts only GET");
    }
    match (asked.uri.path(), known.settings.get()) {
        ("/settings.json", Some(settings)) => json(StatusCode::OK, settings),
        ("/settings.json", None) => text(StatusCode::SERVICE_UNAVAILABLE, "there is no demo (yet)"),
        ("/reference", _) => answer(StatusCode::OK, HTML, reference::page(known.deployed.get())),
        (path, _) => match file(path) {
            Some((_, content_type, content)) => answer(StatusCode::OK, content_type, (*content).to_owned()),
            None => text(StatusCode::NOT_FOUND, "there is no such file"),
        },
    }
}

/// A file of the landing page or of the API reference.
fn file(path: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let of_reference = || reference::FILES.iter().find(|(name, ..)| path.strip_prefix('/') == Some(name));
    FILES.iter().find(|(known, ..)| *known == path).or_else(of_reference)
}

/// Sets the security headers. The page may load only its own files and the script of the lead capture API, and call
/// only that API.
fn protect(headers: &mut HeaderMap, settings: Option<&Settings>) {
    let capture = settings.and_then(|settings| Url::parse(&settings.capture_url).ok());
    let capture = capture.map(|url| format!(" {}", url.origin().ascii_serialization())).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self'{capture}; style-src 'self'; img-src data:; connect-src 'self'{capture}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}
