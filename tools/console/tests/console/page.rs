//! `docs/console.md` must list the commands as clap defines them.
//!
//! `UPDATE=1 cargo test --manifest-path tools/console/Cargo.toml page` rewrites the list.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, ArgAction, ArgGroup, Command};

const BEGIN: &str = "<!-- commands -->\n";
const END: &str = "<!-- /commands -->";

#[test]
fn the_page_lists_every_command_as_clap_defines_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/console.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page must mark the beginning of the list");
    let (_, after) = rest.split_once(END).expect("the page must mark the end of the list");
    let list = list();
    let expected = format!("{before}{BEGIN}{list}{END}{after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "docs/console.md does not list the commands as they are. This is the right list:\n{list}\n\
         To write it into the page: UPDATE=1 cargo test --manifest-path tools/console/Cargo.toml page"
    );
}

/// Renders a table for each noun.
fn list() -> String {
    let mut list = String::new();
    for noun in console::command().get_subcommands().filter(|noun| noun.get_name() != "help") {
        let name = noun.get_name();
        write!(list, "\n### `{name}`\n\n{}\n\n", about(noun)).unwrap();
        list.push_str("| Command | What it does |\n|---|---|\n");
        if !noun.has_subcommands() {
            writeln!(list, "| `{}` | {} |", usage(noun), explanation(noun)).unwrap();
        }
        for verb in noun.get_subcommands().filter(|verb| verb.get_name() != "help") {
            writeln!(list, "| `{name} {}` | {} |", usage(verb), explanation(verb)).unwrap();
        }
    }
    list.push('\n');
    list
}

/// A verb with its arguments, except `--workspace`, which nearly all verbs need.
fn usage(verb: &Command) -> String {
    let mut words = vec![verb.get_name().to_owned()];
    let mut shown: Vec<&str> = Vec::new();
    for arg in own_arguments(verb).filter(|arg| !is_the_workspace(arg)) {
        if shown.contains(&arg.get_id().as_str()) {
            continue;
        }
        let Some(choice) = choice_with(verb, arg) else {
            let word = written(arg);
            words.push(if arg.is_required_set() { word } else { format!("[{word}]") });
            continue;
        };
        let of_choice: Vec<&Arg> =
            own_arguments(verb).filter(|other| choice.get_args().any(|id| id == other.get_id())).collect();
        let written = of_choice.iter().map(|arg| written(arg)).collect::<Vec<_>>().join(" \\| ");
        let repeated = if choice.is_required_set() && is_multiple(choice) { "..." } else { "" };
        words.push(match choice.is_required_set() {
            true => format!("({written}){repeated}"),
            false => format!("[{written}]"),
        });
        shown.extend(of_choice.iter().map(|arg| arg.get_id().as_str()));
    }
    words.join(" ")
}

/// The argument's group, if its arguments exclude each other or one of them is required.
fn choice_with<'a>(verb: &'a Command, arg: &Arg) -> Option<&'a ArgGroup> {
    verb.get_groups().find(|group| {
        let is_choice = group.is_required_set() || !is_multiple(group);
        is_choice && group.get_args().count() > 1 && group.get_args().any(|id| id == arg.get_id())
    })
}

/// Clones the group, because clap's `is_multiple` borrows it mutably.
fn is_multiple(group: &ArgGroup) -> bool {
    group.clone().is_multiple()
}

/// An argument as in `--event TYPE...`.
fn written(arg: &Arg) -> String {
    let value = value(arg);
    let word = match (arg.get_long(), value) {
        (None, _) => arg.get_value_names().map_or_else(String::new, |names| names[0].to_string()),
        (Some(long), None) => format!("--{long}"),
        (Some(long), Some(value)) if takes_a_value_only_behind_an_equals_sign(arg) => {
            format!("--{long}[={value}]")
        }
        (Some(long), Some(value)) => format!("--{long} {value}"),
    };
    let repeated = matches!(arg.get_action(), ArgAction::Append) && !word.ends_with("...");
    word + if repeated { "..." } else { "" }
}

fn takes_a_value_only_behind_an_equals_sign(arg: &Arg) -> bool {
    arg.is_require_equals_set() && arg.get_num_args().is_some_and(|count| count.min_values() == 0)
}

/// The placeholder of the value, or the possible values if there are only a few.
fn value(arg: &Arg) -> Option<String> {
    if !arg.get_action().takes_values() {
        return None;
    }
    let values = arg.get_possible_values();
    if !values.is_empty() && values.len() <= 4 {
        return Some(values.iter().map(|value| value.get_name()).collect::<Vec<_>>().join("\\|"));
    }
    let name = arg.get_value_names().map_or_else(|| arg.get_id().to_string(), |names| names[0].to_string());
    Some(name.to_uppercase().replace('|', "\\|"))
}

/// The explanation of a verb: its purpose, its arguments and their defaults.
fn explanation(verb: &Command) -> String {
    let mut lines = vec![about(verb)];
    let arguments: Vec<&Arg> = own_arguments(verb).collect();
    if !arguments.iter().any(|arg| is_the_workspace(arg) || arg.get_id() == "workspace") {
        lines.push("It takes no `--workspace`.".to_owned());
    }
    for arg in arguments.iter().filter(|arg| !is_the_workspace(arg) && !is_an_id_alone(arg)) {
        let help = help(arg);
        let default: Vec<String> =
            arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        let default = match default.is_empty() || !arg.get_action().takes_values() {
            true => String::new(),
            false => format!(" Default: {}.", default.join(", ")),
        };
        let name = arg.get_long().map_or_else(|| written(arg), |long| format!("--{long}"));
        lines.push(format!("`{name}`: {help}{default}"));
    }
    lines.extend(verb.get_after_help().map(|help| sentence(&help.to_string())));
    lines.join("<br>")
}

fn own_arguments(verb: &Command) -> impl Iterator<Item = &Arg> {
    let global = ["json", "stack", "color", "help", "version"];
    verb.get_arguments().filter(move |arg| !global.contains(&arg.get_id().as_str()))
}

fn is_the_workspace(arg: &Arg) -> bool {
    arg.get_id() == "workspace" && arg.is_required_set()
}

/// Whether the argument is like `--endpoint ID` and needs no explanation.
fn is_an_id_alone(arg: &Arg) -> bool {
    let help = help(arg);
    arg.is_required_set() && help.starts_with("The ") && help.ends_with("'s id.")
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or_else(|| command.get_about());
    sentence(&about.map(ToString::to_string).unwrap_or_default())
}

fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    sentence(&help.map(ToString::to_string).unwrap_or_default())
}

/// The text on one line, with a full stop at its end, as Markdown for a table.
fn sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = text.is_empty() || [".", ".)", "/"].iter().any(|end| text.ends_with(end));
    let text = text.replace('|', "\\|") + if ends { "" } else { "." };
    let parts = text.split('`').enumerate().map(|(n, part)| match n % 2 {
        0 => part.replace('<', "\\<").replace('*', "\\*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}
