//! The commands whose effect no other command takes back, and the confirmation that they need.
//!
//! A row of [`IRREVERSIBLE`] is all that a command needs: it gets the flag `--yes`, and a person is asked.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::output::Terminal;
use crate::{Refusal, Result};

/// The commands, and a sentence for the person who is asked: what is lost.
const IRREVERSIBLE: [([&str; 2], &str); 11] = [
    (["key", "revoke"], "The key never works again: programs that use it are refused."),
    (
        ["webhook", "delete"],
        "The endpoint and its secrets are deleted, and its pending deliveries are cancelled.",
    ),
    (
        ["webhook", "activate"],
        "The previous secret signs for 24 more hours, and X-Service-Signature is made with the new one now.",
    ),
    (["capture", "disable"], "Leads that were accepted before and have no message yet never get one."),
    (
        ["capture", "rotate-key"],
        "The previous key never works again: leads from pages that use it are refused.",
    ),
    (["team", "delete"], "The team is deleted."),
    (["brand", "delete"], "The brand is deleted."),
    (
        ["line", "delete"],
        "The line and its token are deleted. Conversations that still use it send nothing more.",
    ),
    (["template", "delete"], "The template is deleted."),
    (ERASE, "Everything that the workspace holds of the person is erased."),
    (["opt-out", "remove"], "The number gets templates again, and the time of the opt-out is lost."),
];

/// The command that needs `--yes` also if no person can be asked.
const ERASE: [&str; 2] = ["person", "erase"];

/// Gives these commands the flag `--yes`.
pub(crate) fn with_flags(command: Command) -> Command {
    command.mut_subcommands(|noun| {
        let name = noun.get_name().to_owned();
        noun.mut_subcommands(|verb| {
            let named = [name.as_str(), verb.get_name()];
            let is_required = named == ERASE;
            if lost(named).is_some() { verb.arg(flag(is_required)) } else { verb }
        })
    })
}

const YES: &str = "yes";

fn flag(is_required: bool) -> Arg {
    let help = match is_required {
        true => "Confirm the command, which cannot be undone",
        false => "Do not ask for a confirmation, although the command cannot be undone",
    };
    Arg::new(YES).long(YES).action(ArgAction::SetTrue).required(is_required).help(help)
}

fn lost(command: [&str; 2]) -> Option<&'static str> {
    IRREVERSIBLE.iter().find(|(named, _)| *named == command).map(|(_, lost)| *lost)
}

/// Asks the person at the terminal, if the command cannot be undone and `--yes` is absent. A script is not asked.
pub(crate) fn confirm(matches: &ArgMatches, terminal: &mut Terminal) -> Result {
    let named = matches.subcommand().and_then(|(noun, of_noun)| Some((noun, of_noun.subcommand()?)));
    let Some((noun, (verb, of_verb))) = named else { return Ok(()) };
    let Some(lost) = lost([noun, verb]).filter(|_| !of_verb.get_flag(YES)) else { return Ok(()) };
    match terminal.ask(&format!("{lost} This cannot be undone. Continue? [y/N] "))? {
        None => Ok(()),
        Some(answer) if ["y", "yes"].contains(&answer.to_lowercase().as_str()) => Ok(()),
        Some(_) => Err(Refusal::NotConfirmed),
    }
}
