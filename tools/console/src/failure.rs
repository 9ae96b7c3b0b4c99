//! A command that failed, as one JSON value for programs (`--json`).

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;

use crate::Refusal;
use crate::escape::printable;
use crate::output::{Terminal, json_of};

/// Why a command failed. The exit status says whether it was refused or its command line is invalid.
#[derive(Serialize)]
pub(crate) struct Failure {
    /// A stable word.
    code: String,
    /// The sentence that people read.
    message: String,
    /// The argument at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// What the argument should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn write(&self, terminal: &mut Terminal) {
        // If standard error is closed, the failure cannot be reported elsewhere.
        let text = json_of(self).unwrap_or_else(|_| printable(&self.message));
        let _ = writeln!(terminal.err, "{text}");
    }
}

/// Whether a command line that cannot be read asks for JSON.
pub(crate) fn asks_for_json(line: &[OsString]) -> bool {
    line.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

impl From<&Refusal> for Failure {
    fn from(refusal: &Refusal) -> Self {
        let hint = match refusal {
            Refusal::Unfit { reason, .. } => Some(reason.to_string()),
            Refusal::NotMerged(reason) => Some(reason.as_str().to_owned()),
            _ => None,
        };
        Self {
            code: match refusal {
                Refusal::Unknown { what, .. } => format!("UNKNOWN_{}", code(what)),
                _ => code(refusal),
            },
            message: refusal.to_string(),
            field: argument_of(refusal).map(str::to_owned),
            hint,
        }
    }
}

/// The argument at fault, if only one can be meant.
fn argument_of(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::Unknown { what, .. } => return what.argument(),
        Refusal::NoStack | Refusal::MissingTable => "--stack",
        Refusal::WorkspaceExists(_) => "--id",
        Refusal::SeveralWorkspaces { .. } | Refusal::NoLineOfAccountThere { .. } => "--workspace",
        Refusal::NoLineOfAccount(_) | Refusal::SyncStopped { .. } => "--business-account",
        Refusal::UserEmailTaken => "--email",
        Refusal::TooManyOrigins(_) => "--origin",
        Refusal::MaySendTwice => "--may-send-twice",
        Refusal::Url(_) => "--url",
        Refusal::EndpointDisabled(_) => "--endpoint",
        Refusal::FewerSlots { .. } => "--slots",
        Refusal::CapTooLow { argument, .. } | Refusal::BucketNotFound { argument, .. } => argument,
        Refusal::JobDone(_) => "--job",
        _ => return None,
    })
}

impl From<&clap::Error> for Failure {
    fn from(usage: &clap::Error) -> Self {
        let shown = usage.to_string();
        let sentence = shown.split("\n\n").next().unwrap_or_default();
        let sentence = sentence.strip_prefix("error: ").unwrap_or(sentence);
        let (kind, message) = match usage.kind() {
            // Clap shows the whole help instead of an error.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                (ErrorKind::MissingSubcommand, "a command is missing: --help lists the commands".to_owned())
            }
            kind => (kind, sentence.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        let told = |kind| usage.get(kind).map(text).filter(|told| !told.is_empty());
        let possible = [ContextKind::ValidValue, ContextKind::ValidSubcommand].into_iter().find_map(told);
        let suggested =
            [ContextKind::SuggestedValue, ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
        let hint = usage
            .source()
            .map(ToString::to_string)
            .or_else(|| suggested.into_iter().find_map(told).map(|similar| format!("similar: {similar}")))
            .or_else(|| possible.map(|all| format!("one of {all}")));
        let field = told(ContextKind::InvalidArg).map(|arguments| without_values(&arguments));
        Self { code: code(&kind), message, field, hint }
    }
}

/// The names of arguments: `--name <NAME>, --scope <SCOPE>` becomes `--name, --scope`.
fn without_values(arguments: &str) -> String {
    let name = |argument: &str| match argument.split_once(' ') {
        Some((name, _)) if name.starts_with("--") => name.to_owned(),
        _ => argument.to_owned(),
    };
    arguments.split(", ").map(name).collect::<Vec<_>>().join(", ")
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(several) => several.join(", "),
        one => one.to_string(),
    }
}

/// The name of an enum's variant as a constant: `UnknownKey` becomes `UNKNOWN_KEY`. A program may rely on it, so a
/// variant that is renamed changes what programs see.
fn code(variant: &impl std::fmt::Debug) -> String {
    let shown = format!("{variant:?}");
    let name = shown.split(|character: char| !character.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut code = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(character.to_ascii_uppercase());
    }
    code
}
