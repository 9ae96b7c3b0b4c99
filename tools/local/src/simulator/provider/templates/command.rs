//! What somebody at Meta does with a template, and the webhook that follows.

use serde_json::{Value, json};

/// A command: the template's status after it, and the event of the webhook.
type StatusCommand = (&'static str, &'static str, &'static str);

/// The commands that change the status. A template that was flagged can be sent, and its list says so.
const STATUSES: [StatusCommand; 9] = [
    ("approve", "APPROVED", "APPROVED"),
    ("archive", "ARCHIVED", "ARCHIVED"),
    ("disable", "DISABLED", "DISABLED"),
    ("flag", "APPROVED", "FLAGGED"),
    ("pause", "PAUSED", "PAUSED"),
    ("reinstate", "APPROVED", "REINSTATED"),
    ("reject", "REJECTED", "REJECTED"),
    ("review", "PENDING", "PENDING"),
    ("unarchive", "APPROVED", "UNARCHIVED"),
];
/// The other commands.
const OTHERS: [&str; 4] = ["category", "delete", "edit", "quality"];

/// A command about a template.
pub(super) struct Command<'a> {
    kind: Kind<'a>,
    /// Whether a webhook follows.
    pub(super) posts: bool,
}

enum Kind<'a> {
    Status { status: &'static str, event: &'static str, reason: Option<&'a str> },
    Edit { components: &'a Value, format: Option<&'a str> },
    Quality(&'a str),
    Category(&'a str),
    Delete,
}

impl<'a> Command<'a> {
    /// Reads `{command, name, language, ...}`.
    pub(super) fn read(body: &'a Value) -> Result<Self, String> {
        let text = |name: &str| body[name].as_str().filter(|text| !text.is_empty());
        let needed = |name: &'static str| text(name).ok_or(format!("{name} must be a text"));
        needed("name")?;
        needed("language")?;
        let command = needed("command")?;
        let kind = match (command, STATUSES.iter().find(|(name, ..)| *name == command)) {
            (_, Some((_, status, event))) => Kind::Status { status, event, reason: text("reason") },
            ("edit", _) if body["components"].is_array() => {
                Kind::Edit { components: &body["components"], format: text("parameterFormat") }
            }
            ("edit", _) => return Err("components must be a list".to_owned()),
            ("quality", _) => Kind::Quality(needed("quality")?),
            ("category", _) => Kind::Category(needed("category")?),
            ("delete", _) => Kind::Delete,
            _ => {
                let mut names: Vec<&str> = STATUSES.iter().map(|(name, ..)| *name).chain(OTHERS).collect();
                names.sort_unstable();
                return Err(format!("command must be one of {}", names.join(", ")));
            }
        };
        let known = [
            "command",
            "name",
            "language",
            "reason",
            "components",
            "parameterFormat",
            "quality",
            "category",
            "webhook",
        ];
        let members = body.as_object().into_iter().flatten();
        if let Some((other, _)) = members.into_iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(format!("{other} is no field of a command, which has {}", known.join(", ")));
        }
        match &body["webhook"] {
            Value::Null => Ok(Self { kind, posts: true }),
            Value::Bool(posts) => Ok(Self { kind, posts: *posts }),
            _ => Err("webhook must be true or false".to_owned()),
        }
    }

    /// Whether the template no longer exists after the command.
    pub(super) fn removes(&self) -> bool {
        matches!(self.kind, Kind::Delete)
    }

    /// Changes the template. Returns the field and the value of the webhook's change.
    pub(super) fn apply(&self, template: &mut Value) -> (&'static str, Value) {
        // Webhooks have the id as a number, and the language with a hyphen.
        let id: u64 = template["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
        let language = template["language"].as_str().unwrap_or_default().replace('_', "-");
        let mut value = json!({
            "message_template_id": id,
            "message_template_name": template["name"],
            "message_template_language": language,
        });
        let mut status = |event: &str, reason: &str| {
            value["event"] = json!(event);
            value["reason"] = json!(reason);
            value["message_template_category"] = template["category"].clone();
        };
        let field = match &self.kind {
            Kind::Status { status: next, event, reason } => {
                status(event, reason.unwrap_or("NONE"));
                template["status"] = json!(next);
                template["rejected_reason"] = json!(reason.unwrap_or("NONE"));
                "message_template_status_update"
            }
            Kind::Delete => {
                status("DELETED", "NONE");
                "message_template_status_update"
            }
            Kind::Edit { components, format } => {
                template["components"] = (*components).clone();
                if let Some(format) = format {
                    template["parameter_format"] = json!(format);
                }
                let list = components.as_array().into_iter().flatten();
                let body = list.into_iter().find(|component| component["type"] == "BODY");
                value["message_template_element"] = body.map_or(Value::Null, |body| body["text"].clone());
                "message_template_components_update"
            }
            Kind::Quality(next) => {
                value["previous_quality_score"] =
                    template["quality_score"]["score"].as_str().unwrap_or("UNKNOWN").into();
                value["new_quality_score"] = json!(next);
                template["quality_score"] = json!({ "score": next });
                "message_template_quality_update"
            }
            Kind::Category(next) => {
                value["previous_category"] = template["category"].clone();
                value["new_category"] = json!(next);
                template["category"] = json!(next);
                "template_category_update"
            }
        };
        (field, value)
    }
}
