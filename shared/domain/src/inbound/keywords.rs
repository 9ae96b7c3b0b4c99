//! The words by which a customer opts out of templates, and in again.

use std::collections::BTreeSet;

use crate::contact::search::normalise;
use crate::inbound::opt_out::Choice;
use crate::text::{Unfit, within};

/// The keywords of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keywords {
    stop: Vec<String>,
    start: Vec<String>,
}

impl Default for Keywords {
    /// The keywords of a workspace that has none of its own.
    fn default() -> Self {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self { stop: own(&Self::STOP), start: own(&Self::START) }
    }
}

impl Keywords {
    /// The default words that opt out.
    pub const STOP: [&'static str; 5] = ["STOP", "UNSUBSCRIBE", "BAJA", "ALTO", "PARAR"];
    /// The default words that opt in.
    pub const START: [&'static str; 2] = ["START", "ALTA"];
    /// The greatest number of words of each kind.
    pub const MOST: usize = 20;
    /// The greatest number of characters in a word. A keyword may have spaces.
    pub const MAX: usize = 40;
    /// A longer message is no keyword, whatever surrounds the word.
    const MAX_MESSAGE: usize = 4 * Self::MAX;

    /// Keywords as an operator gives them. Words that are the same without case and accents count once; none may both
    /// opt out and opt in.
    pub fn new(stop: &[String], start: &[String]) -> Result<Self, KeywordsUnfit> {
        let (stop, start) = (kind(stop)?, kind(start)?);
        let outs: BTreeSet<String> = stop.iter().map(|word| folded(word)).collect();
        match start.iter().find(|word| outs.contains(&folded(word))) {
            Some(word) => Err(KeywordsUnfit::Both { word: word.clone() }),
            None => Ok(Self { stop, start }),
        }
    }

    /// The words that opt out, as given.
    pub fn stop(&self) -> &[String] {
        &self.stop
    }

    /// The words that opt in, as given.
    pub fn start(&self) -> &[String] {
        &self.start
    }

    /// The choice of a message with several texts, such as the payload and the text of a button. If two texts differ, the
    /// customer opts out.
    pub fn choice_of(&self, texts: &[&str]) -> Option<Choice> {
        texts.iter().filter_map(|text| self.choice(text)).min()
    }

    /// The choice of a text that consists of a keyword alone, compared without case, accents, and the spaces and
    /// punctuation around it.
    pub fn choice(&self, message: &str) -> Option<Choice> {
        if message.chars().take(Self::MAX_MESSAGE + 1).count() > Self::MAX_MESSAGE {
            return None;
        }
        let said = folded(message);
        let is_one_of = |words: &[String]| !said.is_empty() && words.iter().any(|word| folded(word) == said);
        if is_one_of(&self.stop) {
            return Some(Choice::Out);
        }
        is_one_of(&self.start).then_some(Choice::In)
    }
}

/// The words of one kind, checked and without repeats.
fn kind(words: &[String]) -> Result<Vec<String>, KeywordsUnfit> {
    let (mut seen, mut kept) = (BTreeSet::new(), vec![]);
    for word in words {
        let trimmed = word.trim();
        within(trimmed, 1, Keywords::MAX).map_err(KeywordsUnfit::Word)?;
        let folded = folded(trimmed);
        if folded.is_empty() {
            return Err(KeywordsUnfit::Word(Unfit::Value { reason: "should contain a letter or a digit" }));
        }
        if seen.insert(folded) {
            kept.push(trimmed.to_owned());
        }
    }
    match kept.len() > Keywords::MOST {
        true => Err(KeywordsUnfit::TooMany),
        false => Ok(kept),
    }
}

/// The text as it is compared.
fn folded(text: &str) -> String {
    let text = normalise(text);
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why keywords are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeywordsUnfit {
    /// A word is invalid.
    #[error("a keyword {0}")]
    Word(Unfit),
    /// A kind has too many words.
    #[error("each kind has at most {} keywords", Keywords::MOST)]
    TooMany,
    /// A word would opt out and in.
    #[error("{word} cannot both opt out and opt in")]
    Both {
        /// The word.
        word: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_message_is_a_keyword() {
        use Choice::{In, Out};
        let defaults = Keywords::default();
        #[rustfmt::skip]
        let rows = [
            ("STOP", Some(Out)), ("stop", Some(Out)), (" Stop. ", Some(Out)), ("¡STÓP!", Some(Out)),
            ("\"baja\"", Some(Out)), ("Baja\n", Some(Out)), ("ALTO 🛑", Some(Out)), ("párar", Some(Out)),
            ("unsubscribe", Some(Out)), ("start", Some(In)), ("¡Alta!", Some(In)), ("STOP", Some(Out)),
            ("stop it", None), ("please stop", None), ("dar de baja", None), ("stops", None), ("", None), ("...", None),
            ("s t o p", None), ("ALTA BAJA", None),
        ];
        for (message, expected) in rows {
            assert_eq!(defaults.choice(message), expected, "{message:?}");
        }
        // 160 characters at most, whatever surrounds the word.
        let far = |characters: usize| format!("{}STOP", "¡".repeat(characters - 4));
        assert_eq!([160, 161].map(|characters| defaults.choice(&far(characters))), [Some(Out), None]);
    }

    #[test]
    fn an_opt_out_wins_over_another_text_of_the_message() {
        let defaults = Keywords::default();
        for (texts, expected) in [
            (&["START", "STOP"][..], Some(Choice::Out)),
            (&["STOP", "START"], Some(Choice::Out)),
            (&["menu.7", "Alta"], Some(Choice::In)),
            (&["menu.7", "Baja"], Some(Choice::Out)),
            (&["menu.7", "More"], None),
            (&[], None),
        ] {
            assert_eq!(defaults.choice_of(texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_workspaces_own_words_replace_the_defaults() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let own = Keywords::new(&words(&[" No más ", "NO MAS", "Aus"]), &words(&[])).unwrap();
        assert_eq!(own.stop(), ["No más", "Aus"]);
        assert_eq!(own.start(), [""; 0]);
        assert_eq!(Keywords::new(&[], &words(&["Alta", "alta ", "An"])).unwrap().start(), ["Alta", "An"]);
        let said = ["no  mas!", "AUS", "STOP", "START"].map(|message| own.choice(message));
        assert_eq!(said, [Some(Choice::Out), Some(Choice::Out), None, None]);
    }

    #[test]
    fn invalid_words_are_refused() {
        let one = |word: &str| vec![word.to_owned()];
        let many: Vec<String> = (0..=Keywords::MOST).map(|n| format!("w{n}")).collect();
        assert!(Keywords::new(&many[1..], &[]).is_ok());
        assert_eq!(Keywords::new(&many, &[]), Err(KeywordsUnfit::TooMany));
        assert_eq!(
            Keywords::new(&one("alta"), &one("Álta!")),
            Err(KeywordsUnfit::Both { word: "Álta!".to_owned() })
        );
        for word in ["", " ", "!?", &"x".repeat(41)] {
            assert!(matches!(Keywords::new(&[], &one(word)), Err(KeywordsUnfit::Word(_))), "{word:?}");
        }
    }
}
