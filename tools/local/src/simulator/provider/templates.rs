//! The registry of templates: for each business account that has one, its lines and its templates as Meta lists them.

mod command;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::line::{WebhookChange, display_number};
use crate::simulator::whatsapp::{Fault, judged, positional};
use command::Command;

/// The number of templates on a page, if the call asks for none.
const PAGE: usize = 25;
/// The first id of a template.
const FIRST_ID: u64 = 1_689_000_000_000_000;

/// The templates of all accounts.
#[derive(Debug, Default)]
pub struct Templates(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    accounts: BTreeMap<String, Account>,
    /// The number of ids so far.
    ids: u64,
}

/// The registry of one account.
#[derive(Debug, Default)]
struct Account {
    /// The ids of the account's phone numbers.
    lines: Vec<String>,
    templates: Vec<Value>,
    /// The Graph API's code with which every reading is refused.
    refuses: Option<u32>,
}

/// What a command changed.
#[derive(Debug)]
pub struct Changed {
    /// The template after the command.
    pub template: Value,
    /// The webhook's change. `None` if the command should post none.
    pub change: Option<WebhookChange>,
}

impl Templates {
    /// Sets the registry of an account: `{phoneNumberIds, data, refuses}`, or the list alone. Returns the list with the ids. A
    /// template that the account had before keeps its id.
    ///
    /// # Errors
    /// If the registry is wrong: the reason.
    pub fn set(&self, account: &str, body: &Value) -> Result<Value, String> {
        let of = if body.is_array() { &json!({ "data": body }) } else { body };
        let known = ["phoneNumberIds", "data", "refuses"];
        let members = of.as_object().ok_or("the body must be an object or a list of templates")?;
        if let Some(other) = members.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("{other} is no field of a registry, which has {}", known.join(", ")));
        }
        let lines = texts(&of["phoneNumberIds"]).ok_or("phoneNumberIds must be a list of texts")?;
        let refuses = match &of["refuses"] {
            Value::Null => None,
            code => {
                Some(code.as_u64().and_then(|code| code.try_into().ok()).ok_or("refuses must be a code")?)
            }
        };
        let list = of["data"].as_array().ok_or("data must be a list of templates")?;
        let mut state = self.state();
        let before = state.accounts.remove(account).unwrap_or_default();
        let mut templates: Vec<Value> = vec![];
        for template in list {
            let mut template = complete(template)?;
            if find(&templates, &template).is_some() {
                return Err(format!("{} is repeated in {}", template["name"], template["language"]));
            }
            if template["id"].is_null() {
                let known = find(&before.templates, &template).map(|at| before.templates[at]["id"].clone());
                template["id"] = known.unwrap_or_else(|| state.next_id());
            }
            templates.push(template);
        }
        for other in state.accounts.values_mut() {
            other.lines.retain(|line| !lines.contains(line));
        }
        let shown = json!(templates);
        state.accounts.insert(account.to_owned(), Account { lines, templates, refuses });
        Ok(shown)
    }

    /// The registry of an account.
    pub(super) fn show(&self, account: &str) -> Option<Value> {
        let state = self.state();
        let Account { lines, templates, refuses } = state.accounts.get(account)?;
        Some(json!({ "phoneNumberIds": lines, "data": templates, "refuses": refuses }))
    }

    /// Changes a template as somebody at Meta would.
    ///
    /// # Errors
    /// If there is no such template or command: the reason.
    pub fn command(&self, account: &str, body: &Value) -> Result<Changed, String> {
        let command = Command::read(body)?;
        let mut state = self.state();
        let of = state.accounts.get_mut(account).ok_or("the account has no registry: PUT sets one")?;
        let at = find(&of.templates, body).ok_or("the account has no such template in this language")?;
        let mut template = of.templates[at].clone();
        let (field, value) = command.apply(&mut template);
        if command.removes() {
            of.templates.remove(at);
        } else {
            of.templates[at] = template.clone();
        }
        let change = WebhookChange { account: account.to_owned(), field: field.to_owned(), value };
        Ok(Changed { template, change: command.posts.then_some(change) })
    }

    /// Judges a message of a line against the registry of the line's account.
    ///
    /// # Errors
    /// If Meta would refuse the message.
    pub fn judge(&self, line: &str, message: &Value) -> Result<(), Fault> {
        if message["type"] != "template" {
            return Ok(());
        }
        let state = self.state();
        let account = state.accounts.values().find(|account| account.lines.iter().any(|of| of == line));
        let Some(account) = account else { return positional(message) };
        let template = &message["template"];
        let named = json!({ "name": template["name"], "language": template["language"]["code"] });
        judged(find(&account.templates, &named).map(|at| &account.templates[at]), message)
    }

    /// A page of an account's templates. `query` is the query of the call, and `url` the URL without it.
    ///
    /// # Errors
    /// If there is no such registry, or it may not be read.
    pub fn page(&self, account: &str, query: &str, url: &str) -> Result<Value, Fault> {
        let state = self.state();
        let of = state.accounts.get(account).ok_or_else(|| no_object(account))?;
        of.may_be_read()?;
        let asked: BTreeMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).collect();
        let limit = asked.get("limit").map_or(Some(PAGE), |limit| limit.parse().ok());
        let limit =
            limit.filter(|limit| *limit > 0).ok_or(Fault::INVALID.because("Param limit is wrong."))?;
        let after = asked.get("after").map_or(Some(0), |after| position(after));
        let name = asked.get("name").map_or("", AsRef::as_ref);
        let has_name = |template: &&Value| template["name"].as_str().is_some_and(|of| of.contains(name));
        let templates: Vec<&Value> = of.templates.iter().filter(has_name).collect();
        let from = after.ok_or(Fault::INVALID.because("Param after is no cursor."))?.min(templates.len());
        let to = (from + limit).min(templates.len());
        let fields = asked.get("fields").map(AsRef::as_ref);
        let data: Vec<Value> = templates[from..to].iter().map(|template| shown(template, fields)).collect();
        let mut page =
            json!({ "data": data, "paging": { "cursors": { "before": cursor(from), "after": cursor(to) } } });
        if to < templates.len() {
            let mut next = url::form_urlencoded::Serializer::new(String::new());
            next.extend_pairs(asked.iter().filter(|(name, _)| name.as_ref() != "after"));
            next.append_pair("after", &cursor(to));
            page["paging"]["next"] = json!(format!("{url}?{}", next.finish()));
        }
        Ok(page)
    }

    /// An account's lines. All of them work.
    pub(super) fn lines(&self, account: &str, query: &str) -> Result<Value, Fault> {
        let state = self.state();
        let of = state.accounts.get(account).ok_or_else(|| no_object(account))?;
        of.may_be_read()?;
        let fields = fields_of(query);
        let line = |id: &String| {
            let line = json!({
                "id": id,
                "display_phone_number": format!("+{}", display_number(id)),
                "verified_name": "Demo",
                "name_status": "APPROVED",
                "quality_rating": "GREEN",
                "messaging_limit_tier": "TIER_1K",
                "status": "CONNECTED",
            });
            shown(&line, fields.as_deref())
        };
        Ok(json!({ "data": of.lines.iter().map(line).collect::<Vec<_>>() }))
    }

    /// The template with this id, if an account has it.
    pub(super) fn one(&self, id: &str, query: &str) -> Option<Result<Value, Fault>> {
        let state = self.state();
        let has = |account: &&Account| account.templates.iter().any(|template| template["id"] == id);
        let account = state.accounts.values().find(has)?;
        let template = account.templates.iter().find(|template| template["id"] == id)?;
        Some(account.may_be_read().map(|()| shown(template, fields_of(query).as_deref())))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_id(&mut self) -> Value {
        self.ids += 1;
        json!((FIRST_ID + self.ids).to_string())
    }
}

impl Account {
    fn may_be_read(&self) -> Result<(), Fault> {
        self.refuses.map_or(Ok(()), |code| Err(Fault::of_code(code)))
    }
}

/// A template with what the list of every template has.
fn complete(template: &Value) -> Result<Value, String> {
    let text = |name: &str| template[name].as_str().filter(|text| !text.is_empty());
    let (Some(name), Some(language)) = (text("name"), text("language")) else {
        return Err("each template needs a name and a language".to_owned());
    };
    if !template["components"].is_array() {
        return Err(format!("the template {name} needs a list of components"));
    }
    if language.contains('-') {
        return Err(format!("the language of {name} must be written with an underscore, such as en_US"));
    }
    let mut complete = template.clone();
    for (field, default) in
        [("status", "APPROVED"), ("category", "UTILITY"), ("parameter_format", "POSITIONAL")]
    {
        if complete[field].is_null() {
            complete[field] = json!(default);
        }
    }
    Ok(complete)
}

/// Where the template with the same name and language is.
fn find(templates: &[Value], named: &Value) -> Option<usize> {
    let is_same =
        |template: &Value| template["name"] == named["name"] && template["language"] == named["language"];
    templates.iter().position(is_same)
}

/// The fields that a call asks for. `None` for all of them.
fn fields_of(query: &str) -> Option<String> {
    let fields = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "fields");
    fields.map(|(_, fields)| fields.into_owned())
}

fn shown(template: &Value, fields: Option<&str>) -> Value {
    let Some(fields) = fields else { return template.clone() };
    let names = fields.split(',').chain(["id"]);
    let field = |name: &str| Some((name.to_owned(), template.get(name)?.clone()));
    Value::Object(names.filter_map(field).collect())
}

fn cursor(at: usize) -> String {
    STANDARD.encode(at.to_string())
}

fn position(cursor: &str) -> Option<usize> {
    String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?.parse().ok()
}

fn texts(list: &Value) -> Option<Vec<String>> {
    match list {
        Value::Null => Some(vec![]),
        list => list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
    }
}

fn no_object(id: &str) -> Fault {
    let why = "Unsupported get request. Object with ID";
    Fault::INVALID
        .because(format!("{why} '{id}' does not exist, or the account has no registry of templates."))
}
