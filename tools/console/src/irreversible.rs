//! The commands whose effect no other command takes back, and the confirmation that they need.
//!
//! A row of [`IRREVERSIBLE`] is all that a command needs: it gets the flag `--yes`, and a person is asked.

use clap::{Arg, ArgAction, ArgMatches, Command};
use domain::{
    Cellphone, Contact, ContactRef, Line, PersonName, Template, TemplateId, TemplateScope, Workspace,
};

use crate::arguments::WorkspaceRef;
use crate::output::Terminal;
use crate::{Console, Refusal, Result, contacts};

/// The commands, what each takes a thing from, and what is lost: the rest of the sentence that begins with the thing.
const IRREVERSIBLE: [([&str; 2], Thing, &str); 14] = [
    (["key", "revoke"], Thing::Key, "it never works again, and programs that use it are refused."),
    (
        ["webhook", "delete"],
        Thing::Endpoint,
        "it is deleted with its secrets, and its pending deliveries are cancelled.",
    ),
    (
        ["webhook", "activate"],
        Thing::Endpoint,
        "its previous secret signs for 24 more hours, and X-Service-Signature is made with the new one now.",
    ),
    (
        ["capture", "disable"],
        Thing::Capture,
        "leads that were accepted before and have no message yet never get one.",
    ),
    (
        ["capture", "rotate-key"],
        Thing::Capture,
        "its previous key never works again: leads from pages that use it are refused.",
    ),
    (["team", "delete"], Thing::Team, "it is deleted."),
    (
        ["contacts", "merge"],
        Thing::Contact,
        "it becomes part of the other contact, which takes its conversations.",
    ),
    (["brand", "delete"], Thing::Brand, "it is deleted."),
    (
        ["line", "delete"],
        Thing::Line,
        "it is deleted with its token. Conversations that still use it send nothing more.",
    ),
    (["template", "delete"], Thing::Template, "it is deleted."),
    (["template", "prune"], Thing::GoneTemplates, "each that is not in use is deleted."),
    (["inbound", "delete"], Thing::Inbound, "what it holds is never processed."),
    (ERASE, Thing::Person, "everything that the workspace holds of the person is erased."),
    (["opt-out", "remove"], Thing::Number, "it gets templates again, and the time of its opt-out is lost."),
];

/// What a command takes away, by its arguments.
#[derive(Clone, Copy)]
enum Thing {
    Key,
    Endpoint,
    Capture,
    Team,
    Contact,
    Brand,
    Line,
    Template,
    GoneTemplates,
    Inbound,
    Person,
    Number,
}

/// The command that needs `--yes` also if no person can be asked.
const ERASE: [&str; 2] = ["person", "erase"];

/// Gives these commands the flag `--yes`.
pub(crate) fn with_flags(command: Command) -> Command {
    command.mut_subcommands(|noun| {
        let name = noun.get_name().to_owned();
        noun.mut_subcommands(|verb| {
            let named = [name.as_str(), verb.get_name()];
            let is_required = named == ERASE;
            if row(named).is_some() { verb.arg(flag(is_required)) } else { verb }
        })
    })
}

const YES: &str = "yes";

fn flag(is_required: bool) -> Arg {
    let help = match is_required {
        true => "Confirm the command, which cannot be undone",
        false => "Do not ask for a confirmation, although the command cannot be undone",
    };
    let flag = Arg::new(YES).long(YES).action(ArgAction::SetTrue).help(help);
    // A preview erases nothing.
    if is_required { flag.required_unless_present("dry_run") } else { flag }
}

fn row(command: [&str; 2]) -> Option<(Thing, &'static str)> {
    IRREVERSIBLE.iter().find(|(named, ..)| *named == command).map(|(_, thing, lost)| (*thing, *lost))
}

/// Asks the person at the terminal, if the command cannot be undone and `--yes` is absent. A script is not asked. If there is
/// no such thing, the command says so.
pub(crate) async fn confirm(console: &Console, matches: &ArgMatches, terminal: &mut Terminal) -> Result {
    let named = matches.subcommand().and_then(|(noun, of_noun)| Some((noun, of_noun.subcommand()?)));
    let Some((noun, (verb, of_verb))) = named else { return Ok(()) };
    let Some((thing, lost)) = row([noun, verb]) else { return Ok(()) };
    if of_verb.get_flag(YES) || !terminal.has_person {
        return Ok(());
    }
    let Some(thing) = thing.in_words(console, of_verb).await? else { return Ok(()) };
    match terminal.ask(&format!("{thing}: {lost} This cannot be undone. Continue? [y/N] "))? {
        None => Ok(()),
        Some(answer) if ["y", "yes"].contains(&answer.to_lowercase().as_str()) => Ok(()),
        Some(_) => Err(Refusal::NotConfirmed),
    }
}

impl Thing {
    /// The thing with its name and its workspace. `None` if it does not exist.
    async fn in_words(self, console: &Console, given: &ArgMatches) -> Result<Option<String>> {
        if let Self::Inbound = self {
            return Ok(given.get_one::<String>("id").map(|id| format!("Webhook {id}")));
        }
        let workspace = match given.get_one::<WorkspaceRef>("workspace") {
            Some(named) => console.workspace_named(named).await?,
            None => return self.of_platform(console, given).await,
        };
        let thing = self.of_workspace(console, &workspace, given).await?;
        Ok(thing.map(|thing| format!("{thing} of workspace {:?}", workspace.name)))
    }

    async fn of_platform(self, console: &Console, given: &ArgMatches) -> Result<Option<String>> {
        if let Self::GoneTemplates = self {
            let gone = gone_templates(console, TemplateScope::Platform).await?;
            return Ok(gone.map(|gone| format!("{gone} of the platform")));
        }
        let Some(id) = given.get_one::<TemplateId>("template") else { return Ok(None) };
        let template = console.store.template(TemplateScope::Platform, *id).await?;
        Ok(template.map(|template| format!("{} of the platform", template_in_words(&template))))
    }

    async fn of_workspace(
        self,
        console: &Console,
        workspace: &Workspace,
        given: &ArgMatches,
    ) -> Result<Option<String>> {
        let (store, of) = (&console.store, workspace.id);
        Ok(match self {
            Self::Key => {
                let keys = store.api_keys(of).await?;
                let key = keys.iter().find(|key| Some(&key.id) == given.get_one("key"));
                key.map(|key| format!("API key {:?} ({})", key.name, key.id))
            }
            Self::Endpoint => {
                let Some(id) = given.get_one("endpoint") else { return Ok(None) };
                let endpoint = store.endpoint(of, *id).await?;
                endpoint.map(|endpoint| format!("Webhook endpoint {} ({id})", endpoint.url.as_str()))
            }
            Self::Capture => store.capture(of).await?.map(|_| "Lead capture".to_owned()),
            Self::Team => {
                let Some(id) = given.get_one("team") else { return Ok(None) };
                store.team(of, *id).await?.map(|team| format!("Team {:?} ({id})", team.name))
            }
            Self::Contact => {
                let Some(named) = given.get_one::<ContactRef>("merged") else { return Ok(None) };
                let Some(id) = contacts::holder(console, of, named).await? else { return Ok(None) };
                store.contact(of, id).await?.as_ref().map(contact_in_words)
            }
            Self::Brand => {
                let lines = store.lines(of).await?;
                let brand = given.get_one("brand").and_then(|id| lines.brand(id));
                brand.map(|brand| format!("Brand {:?} ({})", brand.name, brand.id.as_str()))
            }
            Self::Line => {
                let lines = store.lines(of).await?;
                let line = given.get_one("channel").and_then(|channel| lines.line(channel));
                let name =
                    |line: &Line| line.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
                line.map(|line| format!("Line{} ({})", name(line), line.channel.as_str()))
            }
            Self::Template => {
                let Some(id) = given.get_one("template") else { return Ok(None) };
                let template = store.template(TemplateScope::Workspace(of), *id).await?;
                template.as_ref().map(template_in_words)
            }
            Self::GoneTemplates => gone_templates(console, TemplateScope::Workspace(of)).await?,
            // The command is never asked: it needs `--yes`.
            Self::Person => None,
            // It is of no workspace.
            Self::Inbound => None,
            Self::Number => {
                given.get_one::<Cellphone>("cellphone").map(|number| format!("Number {}", number.as_str()))
            }
        })
    }
}

fn contact_in_words(contact: &Contact) -> String {
    let names = [&contact.first_name, &contact.last_name].into_iter().flatten();
    let name = names.map(PersonName::as_str).collect::<Vec<_>>().join(" ");
    match name.as_str() {
        "" => format!("Contact {}", contact.id),
        name => format!("Contact {name:?} ({})", contact.id),
    }
}

/// The templates of a scope that no account has any more, by their names. `None` if there are none.
async fn gone_templates(console: &Console, scope: TemplateScope) -> Result<Option<String>> {
    let templates = console.store.templates_of(scope).await?;
    let gone: Vec<&str> = templates.iter().filter(|one| one.is_gone()).map(|one| one.name.as_str()).collect();
    Ok((!gone.is_empty()).then(|| format!("Templates {}", gone.join(", "))))
}

fn template_in_words(template: &Template) -> String {
    format!("Template {:?} in {} ({})", template.name, template.language, template.id)
}
