//! The API reference: `openapi.yaml` as one page.
//!
//! The page is complete without its script. Folded parts are `<details>`, and every operation, schema and error code has
//! an anchor to link to. The script (`assets/reference.js`) adds the search, the copy buttons and the choice
//! between light and dark.

mod curl;
mod document;
mod markup;
mod operation;
mod schema;

use std::fmt::Write;

use saphyr::Yaml;

pub use curl::Deployed;
pub use document::{OPENAPI, as_json};
use document::{deref, entries, get, list, root, text};
use markup::{escape, prose};
use operation::{Operation, operations};

/// The files beside the page: name, content type, content.
pub const FILES: [(&str, &str, &str); 3] = [
    ("reference.css", "text/css; charset=utf-8", include_str!("../assets/reference.css")),
    ("reference.js", "text/javascript; charset=utf-8", include_str!("../assets/reference.js")),
    ("openapi.yaml", "application/yaml; charset=utf-8", OPENAPI),
];

/// Renders the page. Without a deployment, its requests go to the hosts of the examples.
pub fn page(deployed: Option<&Deployed>) -> String {
    let info = get(root(), "info");
    let title = info.map_or("", |info| text(info, "title"));
    let operations = operations();
    let mut page = String::new();
    let mut put = |part: &str| page.push_str(part);
    put(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}: API reference</title>\n<link rel=\"stylesheet\" href=\"./reference.css\">\n\
         <script src=\"./reference.js\"></script>\n\
         <link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to content</a>\n\
         <header><p><a href=\"#top\">{0}</a> <span>API reference</span></p>\n{TOOLS}\
         <p><a href=\"./openapi.yaml\">openapi.yaml</a></p></header>\n",
        escape(title)
    ));
    put(&navigation(&operations));
    put("<main id=\"content\">\n<section id=\"top\">\n");
    put(&format!("<h1>{}</h1>\n", escape(title)));
    if let Some(info) = info {
        put(&format!("<p class=\"lead\">{}</p>\n", escape(text(info, "summary"))));
        put(&prose(text(info, "description")));
    }
    put(&servers(deployed));
    put("</section>\n");
    for tag in list(get(root(), "tags")) {
        let name = text(tag, "name");
        put(&format!("<section id=\"{}\">\n<h2>{}</h2>\n", anchor(name), escape(name)));
        put(&prose(text(tag, "description")));
        for operation in operations.iter().filter(|operation| operation.is_of(name)) {
            put(&show(operation, deployed));
        }
        put("</section>\n");
    }
    put(&errors());
    put(&schemas());
    put("</main>\n</body>\n</html>\n");
    page
}

/// What works only with the script, which shows it: the search, and the choice between light and dark.
const TOOLS: &str = "<search hidden><label for=\"search\">Search operations, fields and errors</label>\
    <input id=\"search\" type=\"search\" role=\"combobox\" placeholder=\"Search (Ctrl K)\" autocomplete=\"off\" \
    spellcheck=\"false\" aria-autocomplete=\"list\" aria-expanded=\"false\" aria-controls=\"found\">\
    <ul id=\"found\" role=\"listbox\" aria-label=\"Results\" hidden></ul>\
    <p id=\"count\" role=\"status\"></p></search>\n\
    <button id=\"dark\" type=\"button\" aria-pressed=\"false\" hidden>Dark</button>\n";

fn anchor(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

fn navigation(operations: &[Operation]) -> String {
    let mut nav = "<nav aria-label=\"Contents\"><details><summary>Contents</summary>\n<ul>\n\
                   <li><a href=\"#top\">Introduction</a></li>\n"
        .to_owned();
    for tag in list(get(root(), "tags")) {
        let name = text(tag, "name");
        let _ = write!(nav, "<li><a href=\"#{}\">{}</a><ul>", anchor(name), escape(name));
        for operation in operations.iter().filter(|operation| operation.is_of(name)) {
            let said =
                if operation.is_webhook { escape(operation.path) } else { escape(operation.summary()) };
            let _ = write!(nav, "<li><a href=\"#{}\">{said}</a></li>", operation.id());
        }
        nav.push_str("</ul></li>\n");
    }
    nav.push_str(
        "<li><a href=\"#errors\">Error codes</a></li>\n<li><a href=\"#schemas\">Schemas</a></li>\n</ul></details></nav>\n",
    );
    nav
}

/// The servers and the authentication.
fn servers(deployed: Option<&Deployed>) -> String {
    let mut shown = "<h2>Hosts and keys</h2>\n<dl class=\"fields\">\n".to_owned();
    for server in curl::servers() {
        let _ = writeln!(
            shown,
            "<div><dt><code>{}</code></dt><dd>{}</dd></div>",
            escape(&server.url(deployed)),
            prose(server.description())
        );
    }
    let schemes = get(root(), "components").and_then(|components| get(components, "securitySchemes"));
    for (_, scheme) in entries(schemes) {
        let _ = writeln!(
            shown,
            "<div><dt><code>{}</code> <span class=\"kind\">{}</span></dt><dd>{}</dd></div>",
            escape(text(scheme, "name")),
            escape(text(scheme, "in")),
            prose(text(scheme, "description"))
        );
    }
    shown.push_str(
        "</dl>\n<p>The requests on this page take the API key from the shell variable <code>KEY</code>.",
    );
    if deployed.is_some_and(|deployed| !deployed.ids.is_empty()) {
        shown.push_str(" For the local stack, <code>. tools/local/shell.sh</code> sets it.");
    }
    shown.push_str("</p>\n");
    shown
}

fn show(operation: &Operation, deployed: Option<&Deployed>) -> String {
    let mut shown = format!(
        "<article id=\"{}\">\n<h3>{}</h3>\n<p class=\"route\">{}</p>\n",
        operation.id(),
        escape(operation.summary()),
        operation.title()
    );
    shown.push_str(&prose(text(operation.node, "description")));
    if !operation.is_webhook {
        let request = escape(&curl::request(operation, deployed));
        let _ = writeln!(
            shown,
            "<div class=\"curl\"><h4>Try it</h4><pre tabindex=\"0\"><code>{request}</code></pre></div>"
        );
    }
    shown.push_str(&parameters(operation));
    if let Some(content) = get(operation.node, "requestBody").and_then(|body| get(deref(body), "content")) {
        for (content_type, media) in entries(Some(content)) {
            let _ =
                writeln!(shown, "<h4>Request body <span class=\"kind\">{}</span></h4>", escape(content_type));
            shown.push_str(&get(media, "schema").map(schema::body).unwrap_or_default());
            shown.push_str(&examples(media));
        }
    }
    shown.push_str(if operation.is_webhook { "<h4>Your response</h4>\n" } else { "<h4>Responses</h4>\n" });
    for (status, response) in entries(get(operation.node, "responses")) {
        shown.push_str(&answer(status, deref(response)));
    }
    shown.push_str("</article>\n");
    shown
}

fn parameters(operation: &Operation) -> String {
    let mut shown = String::new();
    for parameter in operation.parameters() {
        let needed = get(parameter, "required").and_then(Yaml::as_bool) == Some(true);
        let _ = writeln!(
            shown,
            "<div><dt><code>{}</code> <span class=\"kind\">in {}, {}</span>{}</dt><dd>{}</dd></div>",
            escape(text(parameter, "name")),
            escape(text(parameter, "in")),
            get(parameter, "schema").map(schema::kind).unwrap_or_default(),
            if needed { " <span class=\"needed\">required</span>" } else { "" },
            prose(text(parameter, "description"))
        );
    }
    if shown.is_empty() {
        shown
    } else {
        format!("<h4>Parameters</h4>\n<dl class=\"fields\">\n{shown}</dl>\n")
    }
}

/// One status. It is folded, because readers rarely need it.
fn answer(status: &str, response: &'static Yaml<'static>) -> String {
    let good = status.starts_with('2');
    let mut inside = String::new();
    let mut headers = vec![];
    for (name, header) in entries(get(response, "headers")) {
        let header = deref(header);
        let always = get(header, "required").and_then(Yaml::as_bool) == Some(true);
        headers.push(format!(
            "<div><dt><code>{}</code>{}</dt><dd>{}</dd></div>\n",
            escape(name),
            if always { "" } else { " <span class=\"kind\">sometimes</span>" },
            prose(text(header, "description"))
        ));
    }
    let mut codes = vec![];
    for (content_type, media) in entries(get(response, "content")) {
        if good {
            let _ = writeln!(inside, "<p class=\"kind\">{}</p>", escape(content_type));
            inside.push_str(&get(media, "schema").map(schema::body).unwrap_or_default());
        } else {
            codes.extend(schema::codes(get(media, "schema")));
        }
        inside.push_str(&examples(media));
    }
    if !headers.is_empty() {
        let _ = writeln!(
            inside,
            "<details><summary>Headers</summary><dl class=\"fields\">\n{}</dl></details>",
            headers.concat()
        );
    }
    let links: Vec<String> =
        codes.iter().map(|code| format!("<a href=\"#{code}\"><code>{code}</code></a>")).collect();
    let summary = format!(
        "<span class=\"status {}\">{}</span> {}",
        if good { "good" } else { "bad" },
        escape(status),
        markup::line(text(response, "description").trim())
    );
    let codes = if links.is_empty() {
        String::new()
    } else {
        format!("<p class=\"codes\">{}</p>\n", links.join(" "))
    };
    if inside.is_empty() {
        return format!("<p class=\"answer\">{summary}</p>\n");
    }
    format!("<details class=\"answer\"><summary>{summary}</summary>\n{codes}{inside}</details>\n")
}

/// The examples of a body, each folded under its summary.
fn examples(media: &'static Yaml<'static>) -> String {
    let mut shown = String::new();
    let mut put = |summary: &str, value: &Yaml<'_>| {
        let _ = writeln!(
            shown,
            "<details class=\"example\"><summary>Example: {}</summary>\
             <pre tabindex=\"0\"><code>{}</code></pre></details>",
            escape(summary),
            escape(&document::pretty(value))
        );
    };
    if let Some(value) = get(media, "example") {
        put("a delivery", value);
    }
    for (name, example) in entries(get(media, "examples")) {
        let example = deref(example);
        if let Some(value) = get(example, "value") {
            let summary = text(example, "summary");
            put(if summary.is_empty() { name } else { summary }, value);
        }
    }
    shown
}

/// Every error code of both APIs, with its status, its title and an example of its cause.
fn errors() -> String {
    let mut rows: Vec<(&str, i64, &str, &str)> = vec![];
    let all = get(root(), "components").and_then(|components| get(components, "examples"));
    for (_, example) in entries(all) {
        let Some(value) = get(example, "value") else { continue };
        let code =
            get(value, "code").or_else(|| get(value, "type").filter(|_| get(value, "title").is_some()));
        let status = get(value, "status").and_then(Yaml::as_integer);
        if let Some((code, status)) = code.and_then(Yaml::as_str).zip(status)
            && rows.iter().all(|(known, ..)| *known != code)
        {
            rows.push((code, status, text(value, "title"), text(example, "summary")));
        }
    }
    let mut shown = "<section id=\"errors\">\n<h2>Error codes</h2>\n<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th>Status</th>\
                     <th>Code</th><th>Meaning</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for (code, status, title, instance) in rows {
        let _ = writeln!(
            shown,
            "<tr id=\"{code}\"><td>{status}</td><td><code>{}</code></td><td><strong>{}</strong>. {}.</td></tr>",
            escape(code).replace('_', "_<wbr>"),
            escape(title),
            markup::line(instance)
        );
    }
    shown.push_str("</tbody></table></div>\n</section>\n");
    shown
}

/// The named schemas of the bodies.
fn schemas() -> String {
    let mut shown = "<section id=\"schemas\">\n<h2>Schemas</h2>\n".to_owned();
    let all = get(root(), "components").and_then(|components| get(components, "schemas"));
    for (name, node) in entries(all).filter(|(_, node)| schema::is_object(node)) {
        let _ = writeln!(
            shown,
            "<article id=\"schema-{name}\">\n<h3>{name}</h3>\n{}{}</article>",
            prose(text(node, "description")),
            schema::fields(node)
        );
    }
    shown.push_str("</section>\n");
    shown
}
