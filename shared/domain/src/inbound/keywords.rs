//! The words by which a customer opts out of templates, and in again.

use std::collections::BTreeSet;

use crate::choices::{Choice, ChoiceScope};
use crate::contact::search::normalise;
use crate::text::{Unfit, within};

/// What a keyword asks for. If a message has several texts, the first of this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keyword {
    /// No templates.
    Stop,
    /// No templates that advertise.
    StopMarketing,
    /// All templates again.
    Start,
}

impl Keyword {
    /// The choice that the customer makes, and what it covers. A preference for one line stays: it is the provider's word,
    /// and the provider refuses, too.
    pub fn choice(self) -> (Choice, BTreeSet<ChoiceScope>) {
        match self {
            Self::Stop => (Choice::Out, [ChoiceScope::All].into()),
            Self::StopMarketing => (Choice::Out, [ChoiceScope::Marketing].into()),
            Self::Start => (Choice::In, [ChoiceScope::All, ChoiceScope::Marketing].into()),
        }
    }
}

/// The keywords of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keywords {
    stop: Vec<String>,
    stop_marketing: Vec<String>,
    start: Vec<String>,
}

impl Default for Keywords {
    /// The keywords of a workspace that has none of its own.
    fn default() -> Self {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self { stop: own(&Self::STOP), stop_marketing: own(&Self::STOP_MARKETING), start: own(&Self::START) }
    }
}

impl Keywords {
    /// The default words that opt out.
    pub const STOP: [&'static str; 5] = ["STOP", "UNSUBSCRIBE", "BAJA", "ALTO", "PARAR"];
    /// The default words that opt out of templates that advertise: the text of the provider's own button, and translations.
    pub const STOP_MARKETING: [&'static str; 3] =
        ["STOP PROMOTIONS", "DETENER PROMOCIONES", "PARAR PROMO\u{c7}\u{d5}ES"];
    /// The default words that opt in.
    pub const START: [&'static str; 2] = ["START", "ALTA"];
    /// The greatest number of words of each kind.
    pub const MOST: usize = 20;
    /// The greatest number of characters in a word. A keyword may have spaces.
    pub const MAX: usize = 40;
    /// A longer message is no keyword, whatever surrounds the word.
    const MAX_MESSAGE: usize = 4 * Self::MAX;

    /// Keywords as an operator gives them. Words that are the same without case and accents count once; none may ask for
    /// two things.
    pub fn new(stop: &[String], stop_marketing: &[String], start: &[String]) -> Result<Self, KeywordsUnfit> {
        let all = Self { stop: kind(stop)?, stop_marketing: kind(stop_marketing)?, start: kind(start)? };
        let mut seen = BTreeSet::new();
        let twice =
            all.kinds().into_iter().flat_map(|(_, words)| words).find(|word| !seen.insert(folded(word)));
        match twice {
            Some(word) => Err(KeywordsUnfit::Twice { word: word.clone() }),
            None => Ok(all),
        }
    }

    /// The names of the fields in which own keywords differ from others, as requests name them. `None` are the default ones.
    pub fn differences(before: Option<&Self>, next: Option<&Self>) -> Vec<&'static str> {
        let fields = [before, next].map(|own| own.cloned().unwrap_or_default());
        let [before_all, next_all] = &fields;
        let fields = [
            ("stop", before_all.stop != next_all.stop),
            ("stopMarketing", before_all.stop_marketing != next_all.stop_marketing),
            ("start", before_all.start != next_all.start),
            ("isDefault", before.is_some() != next.is_some()),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// A text as a keyword.
    pub fn word(text: &str) -> Result<String, Unfit> {
        let trimmed = text.trim();
        within(trimmed, 1, Self::MAX)?;
        if folded(trimmed).is_empty() {
            return Err(Unfit::Value { reason: "should contain a letter or a digit" });
        }
        Ok(trimmed.to_owned())
    }

    /// The words that opt out, as given.
    pub fn stop(&self) -> &[String] {
        &self.stop
    }

    /// The words that opt out of templates that advertise, as given.
    pub fn stop_marketing(&self) -> &[String] {
        &self.stop_marketing
    }

    /// The words that opt in, as given.
    pub fn start(&self) -> &[String] {
        &self.start
    }

    fn kinds(&self) -> [(Keyword, &[String]); 3] {
        [
            (Keyword::Stop, &self.stop),
            (Keyword::StopMarketing, &self.stop_marketing),
            (Keyword::Start, &self.start),
        ]
    }

    /// The keyword of a message with several texts, such as the payload and the text of a button. If they ask for
    /// different things, the customer opts out.
    pub fn heard_in(&self, texts: &[&str]) -> Option<Keyword> {
        texts.iter().filter_map(|text| self.heard(text)).min()
    }

    /// The keyword that a text consists of, compared without case, accents, and the spaces and punctuation around it.
    fn heard(&self, text: &str) -> Option<Keyword> {
        if text.chars().take(Self::MAX_MESSAGE + 1).count() > Self::MAX_MESSAGE {
            return None;
        }
        let said = folded(text);
        let is_said = |words: &[String]| !said.is_empty() && words.iter().any(|word| folded(word) == said);
        self.kinds().into_iter().find(|(_, words)| is_said(words)).map(|(keyword, _)| keyword)
    }
}

/// The words of one kind, checked and without repeats.
fn kind(words: &[String]) -> Result<Vec<String>, KeywordsUnfit> {
    let (mut seen, mut kept) = (BTreeSet::new(), vec![]);
    for word in words {
        let word = Keywords::word(word).map_err(KeywordsUnfit::Word)?;
        if seen.insert(folded(&word)) {
            kept.push(word);
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
    /// A word would ask for two things.
    #[error("{word} cannot be a keyword of two kinds")]
    Twice {
        /// The word.
        word: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn only_a_whole_message_is_a_keyword() {
        use Keyword::{Start, Stop, StopMarketing};
        let defaults = Keywords::default();
        #[rustfmt::skip]
        let rows = [
            ("STOP", Some(Stop)), ("stop", Some(Stop)), (" Stop. ", Some(Stop)), ("\u{a1}ST\u{d3}P!", Some(Stop)),
            ("\"baja\"", Some(Stop)), ("Baja\n", Some(Stop)), ("ALTO \u{1f6d1}", Some(Stop)), ("p\u{e1}rar", Some(Stop)),
            ("unsubscribe", Some(Stop)), ("start", Some(Start)), ("\u{a1}Alta!", Some(Start)),
            ("Stop promotions", Some(StopMarketing)), ("Parar promo\u{e7}\u{f5}es", Some(StopMarketing)),
            ("detener  promociones.", Some(StopMarketing)), ("ST\u{200b}OP", Some(Stop)),
            ("stop it", None), ("please stop", None), ("dar de baja", None), ("stops", None), ("", None), ("...", None),
            ("s t o p", None), ("ALTA BAJA", None),
        ];
        for (message, expected) in rows {
            assert_eq!(defaults.heard(message), expected, "{message:?}");
        }
        // 160 characters at most, whatever surrounds the word.
        let far = |characters: usize| format!("{}STOP", "\u{a1}".repeat(characters - 4));
        assert_eq!([160, 161].map(|characters| defaults.heard(&far(characters))), [Some(Stop), None]);
    }

    #[test]
    fn an_opt_out_wins_over_another_text_of_the_message() {
        use Keyword::{Start, Stop, StopMarketing};
        let defaults = Keywords::default();
        for (texts, expected) in [
            (&["START", "STOP"][..], Some(Stop)),
            (&["STOP", "START"], Some(Stop)),
            (&["STOP PROMOTIONS", "STOP"], Some(Stop)),
            (&["START", "Stop promotions"], Some(StopMarketing)),
            (&["menu.7", "Alta"], Some(Start)),
            (&["menu.7", "More"], None),
            (&[], None),
        ] {
            assert_eq!(defaults.heard_in(texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_workspaces_own_words_replace_the_defaults() {
        let own = Keywords::new(&words(&[" No m\u{e1}s ", "NO MAS", "Aus"]), &words(&["Keine Werbung"]), &[])
            .unwrap();
        assert_eq!(own.stop(), ["No m\u{e1}s", "Aus"]);
        assert_eq!((own.stop_marketing(), own.start()), (&words(&["Keine Werbung"])[..], &[][..]));
        assert_eq!(
            Keywords::new(&[], &[], &words(&["Alta", "alta ", "An"])).unwrap().start(),
            ["Alta", "An"]
        );
        let said = ["no  mas!", "AUS", "keine werbung", "STOP", "START"].map(|message| own.heard(message));
        assert_eq!(
            said,
            [Some(Keyword::Stop), Some(Keyword::Stop), Some(Keyword::StopMarketing), None, None]
        );
    }

    #[test]
    fn invalid_words_are_refused() {
        let one = |word: &str| words(&[word]);
        let many: Vec<String> = (0..=Keywords::MOST).map(|n| format!("w{n}")).collect();
        assert!(Keywords::new(&many[1..], &[], &[]).is_ok());
        assert_eq!(Keywords::new(&many, &[], &[]), Err(KeywordsUnfit::TooMany));
        let twice = Err(KeywordsUnfit::Twice { word: "\u{c1}lta!".to_owned() });
        assert_eq!(Keywords::new(&one("alta"), &[], &one("\u{c1}lta!")), twice);
        assert_eq!(Keywords::new(&one("alta"), &one("\u{c1}lta!"), &[]), twice);
        for word in ["", " ", "!?", &"x".repeat(41)] {
            assert!(matches!(Keywords::new(&[], &[], &one(word)), Err(KeywordsUnfit::Word(_))), "{word:?}");
        }
    }
}
