//! An operation as a command for a shell.

use saphyr::Yaml;

use super::document::{deref, entries, get, list, pretty, root, text};
use super::operation::Operation;

/// What the requests on the page use instead of the examples of `openapi.yaml`.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The URL of the Integrations API.
    pub api_url: String,
    /// The URL of the lead capture API.
    pub capture_url: String,
    /// Ids of the examples, each with an id of the demo.
    pub ids: Vec<(&'static str, String)>,
}

impl Deployed {
    /// A deployment whose URLs are not known yet. [`Deployed::put_into`] puts them into the page.
    pub fn to_come() -> Self {
        Self { api_url: API.to_owned(), capture_url: CAPTURE.to_owned(), ids: Vec::new() }
    }

    /// The page of [`Deployed::to_come`] with these URLs.
    pub fn put_into(page: &str, api_url: &str, capture_url: &str) -> String {
        page.replace(API, api_url).replace(CAPTURE, capture_url)
    }
}

/// What stands in a page in the places of the two URLs until they are known. No such host can exist.
const API: &str = "https://integrations-api.invalid";
const CAPTURE: &str = "https://capture-api.invalid";

/// One of the two APIs.
pub(super) struct Api {
    server: &'static Yaml<'static>,
    is_capture: bool,
}

/// The server of the Integrations API, then that of lead capture, whose paths name it themselves.
pub(super) fn servers() -> Vec<Api> {
    let items = entries(get(root(), "paths")).map(|(_, item)| item);
    let capture = items.flat_map(|item| list(get(item, "servers"))).next();
    let integrations = list(get(root(), "servers")).first();
    let of = |is_capture| move |server| Api { server, is_capture };
    integrations.map(of(false)).into_iter().chain(capture.map(of(true))).collect()
}

impl Api {
    /// The deployed URL, or the URL of the examples.
    pub(super) fn url(&self, deployed: Option<&Deployed>) -> String {
        match deployed {
            Some(deployed) if self.is_capture => deployed.capture_url.clone(),
            Some(deployed) => deployed.api_url.clone(),
            None => {
                let mut url = text(self.server, "url").to_owned();
                for (name, variable) in entries(get(self.server, "variables")) {
                    url = url.replace(&format!("{{{name}}}"), text(variable, "default"));
                }
                url
            }
        }
    }

    pub(super) fn description(&self) -> &'static str {
        text(self.server, "description")
    }
}

/// The command. It has the required parameters and the first example of the body. For lead capture it also has the
/// optional parameters, because browsers send them.
pub(super) fn request(operation: &Operation, deployed: Option<&Deployed>) -> String {
    let is_capture = get(operation.item, "servers").is_some();
    let server = servers().into_iter().find(|server| server.is_capture == is_capture);
    let mut url = server.map(|server| server.url(deployed)).unwrap_or_default() + operation.path;
    let mut separator = '?';
    let mut options = vec![];
    if !is_capture {
        options.push("-H \"x-api-key: $KEY\"".to_owned());
    }
    for parameter in operation.parameters() {
        let name = text(parameter, "name");
        let Some(value) = get(parameter, "example").and_then(Yaml::as_str) else { continue };
        let is_sent = is_capture || get(parameter, "required").and_then(Yaml::as_bool) == Some(true);
        match text(parameter, "in") {
            "path" => url = url.replace(&format!("{{{name}}}"), value),
            "query" if is_sent => {
                url.push_str(&format!("{separator}{name}={value}"));
                separator = '&';
            }
            "header" if is_sent => options.push(format!("-H {}", quoted(&format!("{name}: {value}")))),
            _ => {}
        }
    }
    if let Some(body) = body(operation) {
        options.push("-H 'content-type: application/json'".to_owned());
        options.push(format!("-d {}", quoted(&pretty(body))));
    }
    let method = match operation.method {
        "get" => String::new(),
        method => format!(" -X {}", method.to_uppercase()),
    };
    let first = format!("curl -s{method} {}", quoted(&url));
    let command = [first].into_iter().chain(options).collect::<Vec<_>>().join(" \\\n  ");
    let ids = deployed.map(|deployed| deployed.ids.as_slice()).unwrap_or_default();
    ids.iter().fold(command, |command, (example, id)| command.replace(example, id))
}

/// The first example of a request's body.
fn body(operation: &Operation) -> Option<&'static Yaml<'static>> {
    let content = get(deref(get(operation.node, "requestBody")?), "content")?;
    let (_, media) = entries(Some(content)).next()?;
    let (_, example) = entries(get(media, "examples")).next()?;
    get(deref(example), "value")
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
