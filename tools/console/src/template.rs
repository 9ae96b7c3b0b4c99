//! `console template ...`

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Args, Command, Subcommand};
use domain::settings::template::{
    ContactField, NewTemplate, ParameterValue, Source, TemplateUnfit, Variable,
};
use domain::usage::UsedBy;
use domain::{BusinessAccountId, Provider, Template, TemplateCategory, TemplateId, TemplateScope, usage};
use serde_json::{Value, json};
use store::TemplateOwner;

use crate::arguments::{WORKSPACE, WorkspaceRef, one_of, workspace_ref};
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::{Named, unused};
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a template that exists at the provider.
    #[command(
        after_help = "A variable is NAME=CALLER, or NAME=CONTACT.field with firstName, lastName, email or cellphone. \
        A text after a colon is the fallback for a contact without that field: name=CONTACT.firstName:friend. Without a \
        fallback, such a contact gets no message."
    )]
    Create(Create),
    /// List the templates of a scope, oldest first.
    List(InScope),
    /// Show a template: its language, the values it takes, the accounts for which it is approved, and what uses it.
    ///
    /// The text of the body is only at the provider.
    Show(OneTemplate),
    /// Change a template's name to another one at the provider. Messages that are still to be sent use the new name.
    Rename {
        #[command(flatten)]
        one: OneTemplate,
        /// The template's name at the provider, unique in its scope for each language.
        #[arg(long)]
        name: String,
    },
    /// Delete a template. It stays at the provider.
    ///
    /// A workspace's template is refused while it is in the onboarding or lead capture names it. A template of the platform
    /// is refused while it is approved for an account, because any workspace could send it: revoke the approvals first.
    /// Requests that name a deleted template are refused, and messages that are still to be sent with it fail with
    /// NO_TEMPLATE.
    Delete(OneTemplate),
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
    #[arg(long = "variable", value_name = "NAME=SOURCE", value_parser = variable)]
    variables: Vec<Variable>,
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
            Self::Rename { one, name } => view(&one.rename(console, &name).await?).into(),
            Self::Delete(one) => one.delete(console).await?.into(),
            Self::Approve(approval) => {
                let approve = |template: &Template| template.approved_for(&approval.business_account);
                view(&approval.change(console, approve).await?).into()
            }
            Self::Revoke(approval) => {
                let revoke = |template: &Template| Ok(template.revoked_for(&approval.business_account));
                view(&approval.change(console, revoke).await?).into()
            }
        })
    }
}

async fn create(console: &Console, wanted: Create) -> Result<Template> {
    let store = &console.store;
    let new = NewTemplate {
        scope: wanted.within.scope(console).await?,
        provider: wanted.provider,
        name: &wanted.name,
        language: &wanted.language,
        category: wanted.category,
        variables: wanted.variables,
        approved_by: wanted.approved.into_iter().collect(),
    };
    let template = Template::new(new, store.ids(), store.now())?;
    changed(
        async || wanted.within.read(console).await,
        |(_, of_scope)| {
            template.check_name(of_scope)?;
            Ok(Decision::Changed(template.clone()))
        },
        async |(owner, _), next| store.create_template(owner, next).await,
    )
    .await
}

impl OneTemplate {
    async fn read(&self, console: &Console, scope: TemplateScope) -> Result<Template> {
        Named::Template.found(console.store.template(scope, self.template).await?, self.template)
    }

    /// Reads the owner first: a change after this read changes its version, and the write fails.
    async fn read_with_uses(&self, console: &Console) -> Result<(TemplateOwner, Template, Vec<UsedBy>)> {
        let owner = self.within.owner(console).await?;
        let template = self.read(console, owner.scope()).await?;
        let uses = match &owner {
            TemplateOwner::Workspace(workspace) => {
                let capture = console.store.capture(workspace.id).await?;
                usage::of_template(&template, Some(workspace), capture.as_ref())
            }
            TemplateOwner::Platform { .. } => usage::of_template(&template, None, None),
        };
        Ok((owner, template, uses))
    }

    async fn rename(&self, console: &Console, name: &str) -> Result<Template> {
        changed(
            async || self.within.read(console).await,
            |(_, of_scope)| {
                let found = of_scope.iter().find(|template| template.id == self.template);
                let template = Named::Template.found(found, self.template)?;
                let next = template.renamed(name)?;
                next.iter().try_for_each(|next| next.check_name(of_scope))?;
                Ok(Decision::of(template, next))
            },
            async |(owner, _), next| console.store.rename_template(owner, next).await,
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
    /// Reads the owner first: a change after this read changes its version, and the write fails.
    async fn read(&self, console: &Console) -> Result<(TemplateOwner, Vec<Template>)> {
        let owner = self.owner(console).await?;
        let templates = console.store.templates_of(owner.scope()).await?;
        Ok((owner, templates))
    }

    async fn owner(&self, console: &Console) -> Result<TemplateOwner> {
        match &self.workspace {
            Some(id) => Ok(TemplateOwner::Workspace(Box::new(console.workspace_named(id).await?))),
            None => Ok(console.store.platform_templates().await?),
        }
    }

    async fn scope(&self, console: &Console) -> Result<TemplateScope> {
        match &self.workspace {
            Some(id) => Ok(TemplateScope::Workspace(console.workspace_named(id).await?.id)),
            None => Ok(TemplateScope::Platform),
        }
    }
}

impl Approval {
    async fn change(
        &self,
        console: &Console,
        change: impl Fn(&Template) -> Result<Option<Template>, TemplateUnfit>,
    ) -> Result<Template> {
        let scope = self.one.within.scope(console).await?;
        changed(
            async || self.one.read(console, scope).await,
            |template| Ok(Decision::of(template, change(template)?)),
            async |_, next| console.store.replace_template(next).await,
        )
        .await
    }
}

/// Parses `NAME=CALLER` or `NAME=CONTACT.field[:fallback]`.
fn variable(text: &str) -> Result<Variable, String> {
    let (name, source) = text.split_once('=').ok_or("should be NAME=CALLER or NAME=CONTACT.field")?;
    Variable::new(name, self::source(source)?).map_err(|reason| format!("the name {reason}"))
}

fn source(text: &str) -> Result<Source, String> {
    if text == CALLER {
        return Ok(Source::Caller);
    }
    let field = text.strip_prefix(CONTACT).ok_or("the source should be CALLER or CONTACT.field")?;
    let (field, fallback) = field.split_once(':').map_or((field, None), |(field, text)| (field, Some(text)));
    let fallback = fallback.map(ParameterValue::parse).transpose();
    Ok(Source::Contact {
        field: ContactField::parse(field).map_err(|reason| format!("the field {reason}"))?,
        fallback: fallback.map_err(|reason| format!("the fallback is invalid: {reason}"))?,
    })
}

/// The words for the sources on the command line.
const CALLER: &str = "CALLER";
const CONTACT: &str = "CONTACT.";

/// A template in a list.
fn view(template: &Template) -> View {
    let provider = View::new().json("provider", template.provider.as_str());
    let callers = View::new().json("callerParameters", template.caller_parameters().collect::<Vec<_>>());
    shared(template, provider, callers).json("createdAt", template.created_at.to_string())
}

/// A template with everything that is stored about it. `uses` keep it from being deleted.
fn details(template: &Template, uses: &[UsedBy]) -> View {
    let provider = View::new().text("provider", "provider", template.provider.as_str());
    let callers = template.caller_parameters().collect::<Vec<_>>();
    shared(template, provider, View::new().value("callerParameters", "caller gives", callers))
        .value("paused", "paused for", accounts(template.paused_for()))
        .value("usedBy", "used by", uses.iter().map(UsedBy::to_string).collect::<Vec<_>>())
        .text("createdAt", "created", template.created_at)
}

fn shared(template: &Template, provider: View, callers: View) -> View {
    View::new()
        .text("templateId", "template", template.id)
        .text("scope", "scope", scope(template))
        .and(provider)
        .text("name", "name", &template.name)
        .text("language", "language", &template.language)
        .optional("category", "category", template.category.map(TemplateCategory::as_str))
        .json("variables", template.variables.iter().map(variable_view).collect::<Vec<_>>())
        .lines("variables", template.variables.iter().map(written))
        .and(callers)
        .value("approved", "approved for", accounts(template.approved_by.iter()))
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

/// The source of a variable as on the command line, without its fallback, and the fallback.
fn source_of(variable: &Variable) -> (String, Option<&str>) {
    match &variable.source {
        Source::Caller => (CALLER.to_owned(), None),
        Source::Contact { field, fallback } => {
            (format!("{CONTACT}{}", field.as_str()), fallback.as_ref().map(ParameterValue::as_str))
        }
    }
}

fn variable_view(variable: &Variable) -> Value {
    let (source, fallback) = source_of(variable);
    json!({ "name": variable.name, "source": source, "fallback": fallback })
}

/// The variable as on the command line.
fn written(variable: &Variable) -> String {
    let (source, fallback) = source_of(variable);
    let fallback = fallback.map(|text| format!(":{text}")).unwrap_or_default();
    format!("{}={source}{fallback}", variable.name)
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
        ] {
            assert_eq!(variable(text), Ok(Variable { name: name.to_owned(), source }), "{text}");
        }
        for wrong in [
            "code",
            "=CALLER",
            "a b=CALLER",
            "code=",
            "code=caller",
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
