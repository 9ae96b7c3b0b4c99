//! The commands whose effect no other command takes back, and the confirmation that they need.
//!
//! A row of [`IRREVERSIBLE`] is all that a command needs: it gets the flag `--yes`, and a person is asked.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::Refusal;
use crate::output::Terminal;

/// A command, and what is lost with it.
struct Irreversible {
    noun: &'static str,
    verb: &'static str,
    /// A sentence for the person who is asked.
    loses: &'static str,
    /// Whether `--yes` is also required if no person can be asked.
    always: bool,
}

const IRREVERSIBLE: &[Irreversible] = &[
    Irreversible {
        noun: "key",
        verb: "revoke",
        loses: "The key never works again: programs that use it are refused.",
        always: false,
    },
    Irreversible {
        noun: "webhook",
        verb: "delete",
        loses: "The endpoint and its secrets are deleted, and its pending deliveries are cancelled.",
        always: false,
    },
    Irreversible {
        noun: "webhook",
        verb: "activate",
        loses: "The previous secret signs for 24 more hours, and X-Service-Signature is made with the new one now.",
        always: false,
    },
    Irreversible {
        noun: "capture",
        verb: "disable",
        loses: "Leads that were accepted before and have no message yet never get one.",
        always: false,
    },
    Irreversible {
        noun: "capture",
        verb: "rotate-key",
        loses: "The previous key never works again: leads from pages that use it are refused.",
        always: false,
    },
    Irreversible { noun: "team", verb: "delete", loses: "The team is deleted.", always: false },
    Irreversible { noun: "brand", verb: "delete", loses: "The brand is deleted.", always: false },
    Irreversible {
        noun: "line",
        verb: "delete",
        loses: "The line and its token are deleted. Conversations that still use it send nothing more.",
        always: false,
    },
    Irreversible { noun: "template", verb: "delete", loses: "The template is deleted.", always: false },
    Irreversible {
        noun: "person",
        verb: "erase",
        loses: "Everything that the workspace holds of the person is erased.",
        always: true,
    },
    Irreversible {
        noun: "opt-out",
        verb: "remove",
        loses: "The number gets templates again, and the time of the opt-out is lost.",
        always: false,
    },
];

/// Gives these commands the flag `--yes`.
pub(crate) fn with_flags(command: Command) -> Command {
    command.mut_subcommands(|noun| {
        let name = noun.get_name().to_owned();
        noun.mut_subcommands(|verb| match irreversible(&name, verb.get_name()) {
            Some(row) => verb.arg(flag(row)),
            None => verb,
        })
    })
}

const YES: &str = "yes";

fn flag(row: &Irreversible) -> Arg {
    let help = match row.always {
        true => "Confirm the command, which cannot be undone",
        false => "Do not ask for a confirmation, although the command cannot be undone",
    };
    Arg::new(YES).long(YES).action(ArgAction::SetTrue).required(row.always).help(help)
}

fn irreversible(noun: &str, verb: &str) -> Option<&'static Irreversible> {
    IRREVERSIBLE.iter().find(|row| (row.noun, row.verb) == (noun, verb))
}

/// Asks the person at the terminal, if the command cannot be undone and `--yes` is absent. A script is not asked.
pub(crate) fn confirm(matches: &ArgMatches, terminal: &mut Terminal) -> Result<(), Refusal> {
    let named = matches.subcommand().and_then(|(noun, of_noun)| Some((noun, of_noun.subcommand()?)));
    let Some((noun, (verb, of_verb))) = named else { return Ok(()) };
    let row = irreversible(noun, verb).filter(|_| !of_verb.get_flag(YES));
    let Some(row) = row else { return Ok(()) };
    match terminal.ask(&format!("{} This cannot be undone. Continue? [y/N] ", row.loses))? {
        None => Ok(()),
        Some(answer) if ["y", "yes"].contains(&answer.to_lowercase().as_str()) => Ok(()),
        Some(_) => Err(Refusal::NotConfirmed),
    }
}
