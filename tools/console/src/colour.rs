//! The colours of states in tables.

use std::ffi::OsString;

use clap::builder::styling::{AnsiColor, Style};

/// Whether to use colours if the command line leaves it open (`--color auto`). `setting` reads the environment.
pub(crate) fn automatic(is_terminal: bool, setting: impl Fn(&str) -> Option<OsString>) -> bool {
    let given = |name| setting(name).filter(|value| !value.is_empty());
    if given("NO_COLOR").is_some() {
        return false;
    }
    if given("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    is_terminal
        && given("TERM").is_none_or(|value| value != "dumb")
        && given("CLICOLOR").is_none_or(|value| value != "0")
}

/// What a state means to the person who reads the table.
#[derive(Clone, Copy)]
enum Tone {
    Good,
    Waiting,
    Bad,
    Over,
}

/// The states of all nouns. Green: as it should be. Yellow: not final. Red: somebody must look at it. Grey: no longer used.
const TONES: &[(&str, Tone)] = &[
    ("ACTIVE", Tone::Good),
    ("DELIVERED", Tone::Good),
    ("DONE", Tone::Good),
    ("ENABLED", Tone::Good),
    ("READ", Tone::Good),
    ("SENT", Tone::Good),
    ("active", Tone::Good),
    ("ERASING", Tone::Waiting),
    ("GHOST", Tone::Waiting),
    ("NOT_ASSIGNED_TO_HUMAN", Tone::Waiting),
    ("PARKED", Tone::Waiting),
    ("PENDING", Tone::Waiting),
    ("QUEUED", Tone::Waiting),
    ("SENDING", Tone::Waiting),
    ("SETTLING", Tone::Waiting),
    ("BLOCKED", Tone::Bad),
    ("EXHAUSTED", Tone::Bad),
    ("FAILED", Tone::Bad),
    ("UNKNOWN", Tone::Bad),
    ("CANCELLED", Tone::Over),
    ("DISABLED", Tone::Over),
    ("RELEASED", Tone::Over),
    ("SUPPRESSED", Tone::Over),
    ("archived", Tone::Over),
    ("disabled", Tone::Over),
];

/// The cell of a table with the state in it in colour. Only these columns hold states: other cells hold texts of people.
pub(crate) fn painted(heading: &str, cell: &str) -> String {
    match heading {
        "state" | "status" => painted_word(cell),
        "parts" | "job" | "jobs" => cell.split_inclusive(is_separator).map(painted_in_line).collect(),
        _ => cell.to_owned(),
    }
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || [',', ':'].contains(&character)
}

/// A word of a line with the separator behind it. The states in lines are in capital letters, other words are not.
fn painted_in_line(word: &str) -> String {
    let plain = word.trim_end_matches(is_separator);
    let is_state = plain.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if is_state { format!("{}{}", painted_word(plain), &word[plain.len()..]) } else { word.to_owned() }
}

fn painted_word(word: &str) -> String {
    let Some((_, tone)) = TONES.iter().find(|(state, _)| *state == word) else { return word.to_owned() };
    let style = match tone {
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Waiting => AnsiColor::Yellow.on_default(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Over => Style::new().dimmed(),
    };
    format!("{style}{word}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_and_otherwise_the_terminal() {
        for (is_terminal, environment, expected) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (false, &[("CLICOLOR_FORCE", "")], false),
            (false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (true, &[("TERM", "dumb")], false),
            (true, &[("TERM", "xterm")], true),
            (true, &[("CLICOLOR", "0")], false),
            (true, &[("CLICOLOR", "1")], true),
            (false, &[("CLICOLOR", "1")], false),
        ] {
            let setting = |name: &str| {
                environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            assert_eq!(automatic(is_terminal, setting), expected, "{is_terminal} {environment:?}");
        }
    }

    #[test]
    fn every_state_that_a_table_shows_has_a_tone() {
        let states = [
            domain::DeliveryState::NAMES,
            domain::LeadState::NAMES,
            domain::message::MessageStatus::NAMES,
            domain::ConversationStatus::NAMES,
            &["ENABLED", "DISABLED", "ACTIVE", "DONE", "CANCELLED", "active", "disabled"],
        ];
        for state in states.concat() {
            assert_ne!(painted("state", state), state);
        }
    }

    #[test]
    fn only_states_in_columns_of_states_are_painted() {
        assert_eq!(painted("state", "FAILED"), "\u{1b}[1m\u{1b}[31mFAILED\u{1b}[0m");
        assert_eq!(painted("name", "FAILED"), "FAILED");
        assert_eq!(painted("state", "required"), "required");
        assert_eq!(
            painted("jobs", "x-FAILED #0 DONE, active\nDONE: wamid.SENT"),
            "x-FAILED #0 \u{1b}[32mDONE\u{1b}[0m, active\n\u{1b}[32mDONE\u{1b}[0m: wamid.SENT"
        );
    }
}
