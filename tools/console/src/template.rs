//! `console template ...`

mod sync;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::{Args, Command, Subcommand};
use domain::invisible::is_blank;
use domain::settings::names::NameTaken;
use domain::settings::template::{
    AccountState, Button, ButtonKind, ContactField, Form, Header, NewTemplate, ParameterValue, Sendable,
    Slot, Source, Sources, TemplateUnfit, Variable, short_form,
};
use domain::used_by::UsedBy;
use domain::{
    BusinessAccountId, Provider, Template, TemplateCategory, TemplateId, TemplateScope, TemplateStatus,
    used_by,
};
use serde_json::{Value, json};
use store::{TemplateCreated, TemplateOwner};

use crate::arguments::{WORKSPACE, WorkspaceRef, one_of, workspace_ref};
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::{Named, unused};
use crate::view::View;
use crate::{Console, Refusal, Result};
use sync::Sync;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a template that exists at the provider.
    ///
    /// With --components, the template has the components of the file: the JSON with which the provider shows it, or its array
    /// `components`. Without, it has a body whose text the service does not know, and which takes the variables in their order.
    #[command(after_help = SOURCES)]
    Create(Create),
    /// List the templates of a scope, oldest first.
    List(InScope),
    /// Show a template: its components, the values it takes, its status for each account, and what uses it.
    Show(OneTemplate),
    /// Say where values of a template come from. The other sources stay.
    #[command(after_help = SOURCES)]
    SetSource {
        #[command(flatten)]
        one: OneTemplate,
        /// The source of a value; repeat for several.
        #[arg(long = "source", value_name = "NAME=SOURCE", value_parser = named_source, required = true)]
        sources: Vec<(String, Source)>,
    },
    /// Delete a template. It stays at the provider.
    ///
    /// A workspace's template is refused while it is in the onboarding or lead capture names it. A template of the platform
    /// is refused while it is approved for an account, because any workspace could send it: revoke the approvals first.
    /// Requests that name a deleted template are refused, and messages that are still to be sent with it fail with
    /// NO_TEMPLATE.
    Delete(OneTemplate),
    /// Read the templates and lines of a business account from the provider.
    ///
    /// A template changes wherever it stands: in the platform and in each workspace with a line of the account. One that stands
    /// nowhere is created. Sources of values stay, and new places are CALLER. A template that the provider no longer lists
    /// becomes DELETED and stays here until `template prune`. What the provider says of lines is kept for `GET /settings/lines`. A
    /// second run changes nothing. The service does the same each day.
    Sync(Sync),
    /// Delete the templates of a scope that no account has any more.
    ///
    /// A template that is in use stays, and the command fails. Messages that are still to be sent with a deleted template fail with
    /// NO_TEMPLATE.
    Prune(InScope),
    /// Record that the provider approved a template for an account.
    Approve(Approval),
    /// Record that a template is no longer approved for an account.
    Revoke(Approval),
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InScope,
    /// The template's name at the provider, unique in its scope for each language.
    #[arg(long)]
    name: String,
    /// The template's language at the provider, such as es or en_US.
    #[arg(long)]
    language: String,
    /// What the provider approved the template for. Without it, it counts as MARKETING for people who opted out.
    #[arg(long, value_parser = one_of(TemplateCategory::NAMES, TemplateCategory::parse))]
    category: Option<TemplateCategory>,
    /// The provider.
    #[arg(long, default_value = "WHATSAPP", value_parser = one_of(Provider::NAMES, Provider::parse))]
    provider: Provider,
    /// A variable of the body; repeat for several, in the order of the body.
    #[arg(long = "variable", value_name = "NAME=SOURCE", value_parser = variable, conflicts_with = "components")]
    variables: Vec<Variable>,
    /// A file with the components as JSON.
    #[arg(long, value_name = "FILE")]
    components: Option<PathBuf>,
    /// The source of a value of the components; repeat for several.
    #[arg(long = "source", value_name = "NAME=SOURCE", value_parser = named_source, requires = "components")]
    sources: Vec<(String, Source)>,
    /// A business account for which the provider approved the template; repeat for several.
    #[arg(long = "approved", value_name = "ID", value_parser = BusinessAccountId::parse)]
    approved: Vec<BusinessAccountId>,
}

/// The scope of a verb: the templates of a workspace or of the platform.
#[derive(Args)]
#[group(id = "scope", required = true, multiple = false)]
pub(crate) struct InScope {
    /// Templates of this workspace, by its id or name.
    #[arg(long, value_name = "ID|NAME", env = WORKSPACE, value_parser = workspace_ref)]
    workspace: Option<WorkspaceRef>,
    /// Templates of the platform, which all workspaces may use.
    #[arg(long)]
    platform: bool,
}

#[derive(Args)]
pub(crate) struct OneTemplate {
    #[command(flatten)]
    within: InScope,
    /// The template's id.
    #[arg(long, value_name = "ID", value_parser = TemplateId::parse)]
    template: TemplateId,
}

#[derive(Args)]
pub(crate) struct Approval {
    #[command(flatten)]
    one: OneTemplate,
    /// The business account at the provider.
    #[arg(long, value_name = "ID", value_parser = BusinessAccountId::parse)]
    business_account: BusinessAccountId,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => view(&create(console, wanted).await?).into(),
            Self::List(within) => {
                let scope = within.scope(console).await?;
                let templates = console.store.templates_of(scope).await?;
                templates.iter().map(view).collect()
            }
            Self::Show(one) => {
                let (_, template, uses) = one.read_with_uses(console).await?;
                details(&template, &uses).into()
            }
            Self::SetSource { one, sources } => {
                let sources: Sources = sources.into_iter().collect();
                let now = console.store.now();
                view(&one.change(console, |template| template.with_sources(&sources, now)).await?).into()
            }
            Self::Delete(one) => one.delete(console).await?.into(),
            Self::Sync(sync) => sync.run(console).await?,
            Self::Prune(within) => within.prune(console).await?,
            Self::Approve(approval) => view(&approval.say(console, true).await?).into(),
            Self::Revoke(approval) => view(&approval.say(console, false).await?).into(),
        })
    }
}

async fn create(console: &Console, wanted: Create) -> Result<Template> {
    let store = &console.store;
    let (form, sources) = match &wanted.components {
        Some(file) => (components(file)?, wanted.sources.into_iter().collect()),
        None => short_form(wanted.variables),
    };
    let new = NewTemplate {
        scope: wanted.within.scope(console).await?,
        provider: wanted.provider,
        name: &wanted.name,
        language: &wanted.language,
        category: wanted.category,
        form,
        sources,
        approved_by: wanted.approved.into_iter().collect(),
    };
    let template = Template::new(new, store.ids(), store.now())?;
    changed(
        async || wanted.within.owner(console).await,
        |_| Ok(Decision::Changed(template.clone())),
        async |owner, next| match store.create_template(owner, next).await? {
            TemplateCreated::Done => Ok(true),
            TemplateCreated::Stale => Ok(false),
            TemplateCreated::NameTaken(holder) => Err(Refusal::from(NameTaken::Template(holder))),
        },
    )
    .await
}

/// The components in a file.
fn components(file: &Path) -> Result<Form> {
    let unread = |reason: String| Refusal::Components { file: file.display().to_string(), reason };
    let text = std::fs::read_to_string(file).map_err(|error| unread(error.to_string()))?;
    let shown: Value = serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    provider::read_form(&shown).map_err(unread)
}

impl OneTemplate {
    async fn read(&self, console: &Console, scope: TemplateScope) -> Result<Template> {
        Named::Template.found(console.store.template(scope, self.template).await?, self.template)
    }

    /// Reads the owner first: a change after this read changes its version, and the write fails.
    async fn read_with_uses(&self, console: &Console) -> Result<(TemplateOwner, Template, Vec<UsedBy>)> {
        let owner = self.within.owner(console).await?;
        let template = self.read(console, owner.scope()).await?;
        let uses = uses(console, &owner, &template).await?;
        Ok((owner, template, uses))
    }

    async fn change(
        &self,
        console: &Console,
        change: impl Fn(&Template) -> Result<Option<Template>, TemplateUnfit>,
    ) -> Result<Template> {
        let scope = self.within.scope(console).await?;
        changed(
            async || self.read(console, scope).await,
            |template| Ok(Decision::of(template, change(template)?)),
            async |_, next| console.store.replace_template(next).await,
        )
        .await
    }

    async fn delete(&self, console: &Console) -> Result<View> {
        changed(
            async || self.read_with_uses(console).await,
            |(_, _, by)| unused("template", by.clone()).map(Decision::Changed),
            async |(owner, template, _), ()| console.store.delete_template(owner, template).await,
        )
        .await?;
        Ok(View::deleted("templateId", self.template))
    }
}

/// What uses a template. The owner was read before.
async fn uses(console: &Console, owner: &TemplateOwner, template: &Template) -> Result<Vec<UsedBy>> {
    Ok(match owner {
        TemplateOwner::Workspace(workspace) => {
            let capture = console.store.capture(workspace.id).await?;
            used_by::of_template(template, Some(workspace), capture.as_ref())
        }
        TemplateOwner::Platform { .. } => used_by::of_template(template, None, None),
    })
}

/// Without the workspace of the environment, if the command line says `--platform`. Otherwise clap would find both, which
/// exclude each other.
pub(crate) fn without_default_workspace(command: Command, line: &[OsString]) -> Command {
    if !line.iter().any(|word| word == "--platform") {
        return command;
    }
    let without = |verb: Command| verb.mut_args(|arg| arg.env(Resettable::Reset));
    command.mut_subcommand("template", |noun| noun.mut_subcommands(without))
}

impl InScope {
    async fn owner(&self, console: &Console) -> Result<TemplateOwner> {
        match &self.workspace {
            Some(id) => Ok(TemplateOwner::Workspace(Box::new(console.workspace_named(id).await?))),
            None => Ok(console.store.platform_templates().await?),
        }
    }

    /// Deletes the templates that no account has any more, one by one. Each may have come into use since the last one.
    async fn prune(&self, console: &Console) -> Result<Report> {
        let scope = self.scope(console).await?;
        let gone = console.store.templates_of(scope).await?.into_iter().filter(Template::is_gone);
        let (mut views, mut kept) = (vec![], 0);
        for template in gone {
            let by = changed(
                async || {
                    let owner = self.owner(console).await?;
                    let current = console.store.template(scope, template.id).await?.filter(Template::is_gone);
                    let uses = match &current {
                        Some(current) => uses(console, &owner, current).await?,
                        None => vec![],
                    };
                    Ok((owner, current, uses))
                },
                |(_, current, uses)| {
                    let goes = current.is_some() && uses.is_empty();
                    Ok(if goes { Decision::Changed(vec![]) } else { Decision::Unchanged(uses.clone()) })
                },
                async |(owner, current, _), _: &Vec<UsedBy>| match current {
                    Some(current) => console.store.delete_template(owner, current).await,
                    None => Ok(true),
                },
            )
            .await?;
            kept += usize::from(!by.is_empty());
            views.push(pruned(&template, &by));
        }
        let of = views.len();
        let failure = (kept > 0).then_some(Refusal::NotPruned { kept, of });
        Ok(views.into_iter().collect::<Report>().failed(failure))
    }

    async fn scope(&self, console: &Console) -> Result<TemplateScope> {
        match &self.workspace {
            Some(id) => Ok(TemplateScope::Workspace(console.workspace_named(id).await?.id)),
            None => Ok(TemplateScope::Platform),
        }
    }
}

impl Approval {
    /// Records what the operator says about the account.
    async fn say(&self, console: &Console, approved: bool) -> Result<Template> {
        let now = console.store.now();
        self.one.change(console, |template| template.said(&self.business_account, approved, now)).await
    }
}

/// What the help says about sources.
const SOURCES: &str = "A source is CALLER, or CALLER:value if the caller may leave it out; CONTACT.field with firstName, \
    lastName, email or cellphone; or FIXED:value. A text after CONTACT.field and a colon is the fallback for a contact \
    without that field: name=CONTACT.firstName:friend. Without a fallback, such a contact gets no message.";

/// Parses a variable of the body and its source.
fn variable(text: &str) -> Result<Variable, String> {
    let (name, source) = named_source(text)?;
    Variable::new(&name, source).map_err(|reason| format!("the name {reason}"))
}

/// Parses `NAME=SOURCE`.
fn named_source(text: &str) -> Result<(String, Source), String> {
    let (name, source) = text.split_once('=').ok_or("should be NAME=CALLER or NAME=CONTACT.field")?;
    Ok((name.to_owned(), self::source(source)?))
}

fn source(text: &str) -> Result<Source, String> {
    match text.split_once(':') {
        None if text == Source::CALLER => return Ok(Source::Caller),
        Some((Source::CALLER, default)) => return Ok(Source::CallerOr(constant(default)?)),
        Some((Source::FIXED, value)) => return Ok(Source::Fixed(constant(value)?)),
        _ => {}
    }
    let field = text
        .strip_prefix(Source::CONTACT)
        .ok_or("the source should be CALLER, CONTACT.field or FIXED:value")?;
    let (field, fallback) = field.split_once(':').map_or((field, None), |(field, text)| (field, Some(text)));
    Ok(Source::Contact {
        field: ContactField::parse(field).map_err(|reason| format!("the field {reason}"))?,
        fallback: fallback.map(constant).transpose()?,
    })
}

/// A value that an operator gives.
fn constant(text: &str) -> Result<ParameterValue, String> {
    if is_blank(text) {
        return Err("a value cannot be blank".to_owned());
    }
    ParameterValue::parse(text).map_err(|reason| format!("the value {reason}"))
}

/// A template that was deleted, unless something uses it.
fn pruned(template: &Template, used_by: &[UsedBy]) -> View {
    View::new()
        .text("templateId", "template", template.id)
        .text("name", "name", &template.name)
        .text("language", "language", &template.language)
        .value("deleted", "deleted", used_by.is_empty())
        .value("usedBy", "used by", used_by.iter().map(UsedBy::to_string).collect::<Vec<_>>())
}

/// A template in a list.
fn view(template: &Template) -> View {
    let provider = View::new().json("provider", template.provider.as_str());
    let callers = View::new().json("callerParameters", template.caller_parameters());
    shared(template, provider, callers).json("createdAt", template.created_at.to_string())
}

/// A template with everything that is stored about it. `uses` keep it from being deleted.
fn details(template: &Template, uses: &[UsedBy]) -> View {
    let provider = View::new().text("provider", "provider", template.provider.as_str());
    let callers = View::new().value("callerParameters", "caller gives", template.caller_parameters());
    let states = template.states.iter();
    shared(template, provider, callers)
        .value("paused", "waits for", accounts(template.accounts(Sendable::Later)))
        .json(
            "states",
            states.clone().map(|(account, state)| state_view(template, account, state)).collect::<Vec<_>>(),
        )
        .lines("states", states.map(|(account, state)| written_state(template, account, state)))
        .optional("takenFrom", "read from", template.taken_from.as_ref().map(BusinessAccountId::as_str))
        .json("components", form_view(&template.form))
        .lines("components", written_form(&template.form))
        .value("usedBy", "used by", uses.iter().map(UsedBy::to_string).collect::<Vec<_>>())
        .text("createdAt", "created", template.created_at)
}

fn shared(template: &Template, provider: View, callers: View) -> View {
    let slots = template.form.slots();
    View::new()
        .text("templateId", "template", template.id)
        .text("scope", "scope", scope(template))
        .and(provider)
        .text("name", "name", &template.name)
        .text("language", "language", &template.language)
        .optional("category", "category", template.category.map(TemplateCategory::as_str))
        .json("variables", slots.iter().map(|slot| slot_view(template, slot)).collect::<Vec<_>>())
        .lines("variables", slots.iter().map(|slot| written(template, slot)))
        .and(callers)
        .value("approved", "approved for", accounts(template.accounts(Sendable::Now)))
}

fn scope(template: &Template) -> &'static str {
    match template.scope {
        TemplateScope::Workspace(_) => "WORKSPACE",
        TemplateScope::Platform => "PLATFORM",
    }
}

fn accounts<'a>(ids: impl Iterator<Item = &'a BusinessAccountId>) -> Vec<&'a str> {
    ids.map(BusinessAccountId::as_str).collect()
}

fn state_view(template: &Template, account: &BusinessAccountId, state: &AccountState) -> Value {
    json!({
        "businessAccountId": account.as_str(),
        "status": template.status(account).map(TemplateStatus::as_str),
        "at": state.at.to_string(),
        "by": state.by.as_str(),
        "metaId": state.meta_id,
        "quality": state.quality,
        "category": state.category.map(TemplateCategory::as_str),
        "reason": state.reason,
    })
}

fn written_state(template: &Template, account: &BusinessAccountId, state: &AccountState) -> String {
    let status = template.status(account).map_or("-", TemplateStatus::as_str);
    let said = format!("{} {status} by {} at {}", account.as_str(), state.by.as_str(), state.at);
    let more = [("quality", &state.quality), ("reason", &state.reason)];
    let more = more.iter().filter_map(|(name, value)| Some(format!(", {name} {}", value.as_ref()?)));
    format!("{said}{}", more.collect::<String>())
}

fn form_view(form: &Form) -> Value {
    let lines: Vec<Value> =
        form_lines(form).into_iter().map(|(kind, text)| json!({ "kind": kind, "text": text })).collect();
    json!(lines)
}

fn written_form(form: &Form) -> impl Iterator<Item = String> {
    form_lines(form).into_iter().map(|(kind, text)| match text {
        Some(text) => format!("{kind}: {text}"),
        None => kind,
    })
}

/// The components in words, in the order in which the customer sees them.
fn form_lines(form: &Form) -> Vec<(String, Option<String>)> {
    let mut lines = vec![];
    match &form.header {
        Some(Header::Text(text)) => lines.push(("header".to_owned(), text.text.clone())),
        Some(Header::File(kind)) => lines.push(("header".to_owned(), Some(format!("({})", kind.as_str())))),
        Some(Header::Location) => lines.push(("header".to_owned(), Some("(location)".to_owned()))),
        None => {}
    }
    lines.extend(form.body.text.clone().map(|text| ("body".to_owned(), Some(text))));
    lines.extend(form.footer.clone().map(|text| ("footer".to_owned(), Some(text))));
    lines.extend(form.offer.as_ref().map(|offer| ("offer".to_owned(), Some(offer.text.clone()))));
    lines.extend(button_lines("", &form.buttons));
    for (number, card) in form.cards.iter().enumerate() {
        let name = format!("card.{number}");
        lines.push((
            name.clone(),
            Some(format!("({}) {}", card.header.as_str(), card.body.text.as_deref().unwrap_or_default())),
        ));
        lines.extend(button_lines(&format!("{name}."), &card.buttons));
    }
    lines.extend(form.unsupported.clone().map(|raw| ("unsupported".to_owned(), Some(raw))));
    lines
}

fn button_lines(prefix: &str, buttons: &[Button]) -> Vec<(String, Option<String>)> {
    let line = |(number, button): (usize, &Button)| {
        let does = match &button.kind {
            ButtonKind::QuickReply => "replies".to_owned(),
            ButtonKind::Url(url) => format!("opens {url}"),
            ButtonKind::PhoneNumber(number) => format!("calls {number}"),
            ButtonKind::VoiceCall => "calls in WhatsApp".to_owned(),
            ButtonKind::CopyCode | ButtonKind::Otp => "copies a code".to_owned(),
            ButtonKind::Flow => "opens a flow".to_owned(),
        };
        (format!("{prefix}button.{number}"), Some(format!("{} ({does})", button.text)))
    };
    buttons.iter().enumerate().map(line).collect()
}

fn slot_view(template: &Template, slot: &Slot) -> Value {
    let (source, text) = template.source(&slot.name).in_words();
    json!({ "name": slot.name, "kind": slot.kind.as_str(), "source": source, "fallback": text })
}

/// The slot and its source as on the command line.
fn written(template: &Template, slot: &Slot) -> String {
    let (source, text) = template.source(&slot.name).in_words();
    let text = text.map(|text| format!(":{text}")).unwrap_or_default();
    format!("{}={source}{text}", slot.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_written_with_its_source() {
        let contact = |field, fallback: Option<&str>| Source::Contact {
            field,
            fallback: fallback.map(|text| ParameterValue::parse(text).unwrap()),
        };
        for (text, name, source) in [
            ("code=CALLER", "code", Source::Caller),
            ("1=CONTACT.firstName", "1", contact(ContactField::FirstName, None)),
            ("n=CONTACT.lastName:friend", "n", contact(ContactField::LastName, Some("friend"))),
            ("m=CONTACT.email:a: b=c", "m", contact(ContactField::Email, Some("a: b=c"))),
            ("o=CALLER:x", "o", Source::CallerOr(ParameterValue::parse("x").unwrap())),
            ("f=FIXED:x:y", "f", Source::Fixed(ParameterValue::parse("x:y").unwrap())),
        ] {
            assert_eq!(variable(text), Ok(Variable { name: name.to_owned(), source }), "{text}");
        }
        for wrong in [
            "code",
            "=CALLER",
            "a b=CALLER",
            "code=",
            "code=caller",
            "code=CALLER: ",
            "code=FIXED:",
            "code=CONTACT",
            "code=CONTACT.",
            "code=CONTACT.ownerId",
            "code=CONTACT.firstName:",
            "code=CONTACT.firstName: ",
        ] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }
}
