//! Lines and brands: through which number of the provider a participant is reached, and in whose name.

use std::fmt;

use crate::ids::WorkspaceId;
use crate::refused::Refused;
use crate::secret::Secret;
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::workspace::operator_name;

macro_rules! names_of_others {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The greatest number of characters.
            pub const MAX: usize = 128;

            /// Reads a name that somebody else gave: 1 to 128 characters, not blank.
            pub fn parse(text: &str) -> Result<Self, Unfit> {
                within(text, 1, Self::MAX)?;
                if text.trim().is_empty() || text.chars().any(char::is_control) {
                    return Err(Unfit::Value { reason: "an id cannot be blank or contain control characters" });
                }
                Ok(Self(text.to_owned()))
            }

            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names_of_others! {
    /// A line's id at the provider: WhatsApp's phone number id. `providerChannelId` of the API.
    ChannelId;
    /// A brand of a workspace. `brandId` of the API.
    BrandId;
    /// The account at the provider that a line belongs to and that templates are approved for.
    BusinessAccountId;
}

/// A provider of messaging. `messageProviderType` of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// WhatsApp.
    #[default]
    WhatsApp,
}

impl Provider {
    /// The words of the API.
    pub const NAMES: &'static [&'static str] = &["WHATSAPP"];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        if text == Self::WhatsApp.as_str() {
            Ok(Self::WhatsApp)
        } else {
            Err(Unfit::NotOneOf { expected: Self::NAMES })
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A line: a number of the provider's from which a workspace writes. Its token is kept apart, among the secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its id at the provider.
    pub channel: ChannelId,
    /// The workspace whose line it is.
    pub workspace_id: WorkspaceId,
    /// The brand that writes from it.
    pub brand: BrandId,
    /// The account behind it.
    pub business_account: BusinessAccountId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

impl Line {
    const CHANNEL: &'static str = "^[0-9A-Za-z_-]{1,128}$";
    const TOKEN: &'static str = "^[!-~]{1,4096}$";

    /// A new line. Its channel is part of the URL that is called to send, and is of characters that mean nothing there.
    pub fn new(
        workspace_id: WorkspaceId,
        channel: ChannelId,
        brand: BrandId,
        business_account: BusinessAccountId,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !channel.as_str().bytes().all(plain) {
            return Err(Unfit::Shape { pattern: Self::CHANNEL });
        }
        Ok(Self { channel, workspace_id, brand, business_account, created_at: now, version: 1 })
    }

    /// Reads the token by which the provider knows the line's owner: 1 to 4,096 visible characters, as it travels in
    /// a header.
    pub fn token(text: &str) -> Result<Secret, Unfit> {
        let fits = (1..=4_096).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Secret::new(text)) } else { Err(Unfit::Shape { pattern: Self::TOKEN }) }
    }
}

/// A brand of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brand {
    /// Its id.
    pub id: BrandId,
    /// The workspace whose brand it is.
    pub workspace_id: WorkspaceId,
    /// Name shown to operators, 1 to 256 characters.
    pub name: String,
    /// The line from which it writes where the caller names none.
    pub line: Option<ChannelId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

impl Brand {
    /// A new brand, without a line.
    pub fn new(id: BrandId, workspace_id: WorkspaceId, name: &str, now: Timestamp) -> Result<Self, Unfit> {
        let name = operator_name(name)?;
        Ok(Self { id, workspace_id, name, line: None, created_at: now, version: 1 })
    }
}

/// All lines and brands of a workspace, and the line it writes from where nobody says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The workspace's lines, at most [`Lines::MAX`].
    pub lines: Vec<Line>,
    /// Its brands, at most [`Lines::MAX`].
    pub brands: Vec<Brand>,
    /// Its default line.
    pub default: Option<ChannelId>,
}

impl Lines {
    /// The greatest number of lines, and of brands, of a workspace.
    pub const MAX: usize = 50;

    /// The line that an input's `providerChannelId` and `brandId` mean, and the brand: the line named, else the
    /// brand's, else the workspace's default; the brand named, else the line's.
    ///
    /// [`Refused::UnknownLine`] when a name is nobody's, when there is no line to fall back to, or when both are named
    /// and the line is neither the brand's nor what the brand alone would have meant.
    pub fn resolve(
        &self,
        channel: Option<&ChannelId>,
        brand: Option<&BrandId>,
    ) -> Result<(&Line, BrandId), Refused> {
        let refused = || Refused::UnknownLine { channel: channel.cloned(), brand: brand.cloned() };
        let named = match brand {
            Some(id) => Some(self.brand(id).ok_or_else(refused)?),
            None => None,
        };
        let fallback = named.and_then(|brand| brand.line.as_ref()).or(self.default.as_ref());
        let line = self.line(channel.or(fallback).ok_or_else(refused)?).ok_or_else(refused)?;
        match named {
            Some(brand) if line.brand != brand.id && fallback != Some(&line.channel) => Err(refused()),
            Some(brand) => Ok((line, brand.id.clone())),
            None => Ok((line, line.brand.clone())),
        }
    }

    /// The line of that id.
    pub fn line(&self, channel: &ChannelId) -> Option<&Line> {
        self.lines.iter().find(|line| line.channel == *channel)
    }

    /// The brand of that id.
    pub fn brand(&self, id: &BrandId) -> Option<&Brand> {
        self.brands.iter().find(|brand| brand.id == *id)
    }

    /// Whether there is room for a new brand of that id.
    pub fn admit_brand(&self, id: &BrandId) -> Result<(), LinesRefused> {
        if self.brand(id).is_some() {
            Err(LinesRefused::BrandExists(id.clone()))
        } else if self.brands.len() >= Self::MAX {
            Err(LinesRefused::TooManyBrands)
        } else {
            Ok(())
        }
    }

    /// Whether there is room for a new line of a brand that is there. `Some` is the brand's next version: its first
    /// line becomes the one it writes from.
    pub fn admit_line(&self, line: &Line) -> Result<Option<Brand>, LinesRefused> {
        if self.line(&line.channel).is_some() {
            return Err(LinesRefused::LineExists(line.channel.clone()));
        }
        if self.lines.len() >= Self::MAX {
            return Err(LinesRefused::TooManyLines);
        }
        let brand = self.brand(&line.brand).ok_or_else(|| LinesRefused::UnknownBrand(line.brand.clone()))?;
        let first =
            || Brand { line: Some(line.channel.clone()), version: brand.version + 1, ..brand.clone() };
        Ok(brand.line.is_none().then(first))
    }
}

/// Why a workspace does not take a brand or a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinesRefused {
    /// As many lines as it may have.
    #[error("the workspace already has {} lines, which is the maximum", Lines::MAX)]
    TooManyLines,
    /// As many brands as it may have.
    #[error("the workspace already has {} brands, which is the maximum", Lines::MAX)]
    TooManyBrands,
    /// A line of that id is there.
    #[error("the workspace already has a line {0:?}")]
    LineExists(ChannelId),
    /// A brand of that id is there.
    #[error("the workspace already has a brand {0:?}")]
    BrandExists(BrandId),
    /// The line's brand is not there.
    #[error("the workspace has no brand {0:?}")]
    UnknownBrand(BrandId),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::nil())
    }

    fn channel(id: &str) -> ChannelId {
        ChannelId::parse(id).unwrap()
    }

    fn brand_id(id: &str) -> BrandId {
        BrandId::parse(id).unwrap()
    }

    fn line(id: &str, brand: &str) -> Line {
        let account = BusinessAccountId::parse("2055500001").unwrap();
        Line::new(workspace(), channel(id), brand_id(brand), account, NOW).unwrap()
    }

    fn brand(id: &str, line: Option<&str>) -> Brand {
        Brand { line: line.map(channel), ..Brand::new(brand_id(id), workspace(), "A brand", NOW).unwrap() }
    }

    fn lines() -> Lines {
        Lines {
            lines: vec![line("1", "alpha"), line("2", "beta"), line("3", "beta")],
            brands: vec![brand("alpha", Some("1")), brand("beta", Some("2")), brand("gamma", None)],
            default: Some(channel("1")),
        }
    }

    /// What is resolved, as channel and brand.
    fn resolved(
        lines: &Lines,
        channel: Option<ChannelId>,
        brand: Option<BrandId>,
    ) -> Option<(String, String)> {
        match lines.resolve(channel.as_ref(), brand.as_ref()) {
            Ok((line, brand)) => Some((line.channel.as_str().to_owned(), brand.as_str().to_owned())),
            Err(refused) => {
                assert_eq!(refused, Refused::UnknownLine { channel, brand });
                None
            }
        }
    }

    #[test]
    fn a_participant_is_reached_on_the_line_named_else_the_brands_else_the_default() {
        let rows = [
            (None, None, Some(("1", "alpha"))),
            (Some("3"), None, Some(("3", "beta"))),
            (None, Some("beta"), Some(("2", "beta"))),
            (Some("3"), Some("beta"), Some(("3", "beta"))),
            // A brand without a line writes from the default one, in its own name; also when both are spelled out.
            (None, Some("gamma"), Some(("1", "gamma"))),
            (Some("1"), Some("gamma"), Some(("1", "gamma"))),
            (Some("2"), Some("gamma"), None),
            // Lines of other brands.
            (Some("3"), Some("alpha"), None),
            (Some("1"), Some("beta"), None),
            // Nobody's names, whatever stands beside them.
            (Some("9"), None, None),
            (Some("9"), Some("beta"), None),
            (None, Some("delta"), None),
            (Some("1"), Some("delta"), None),
        ];
        for (named, brand, expected) in rows {
            let expected = expected.map(|(line, brand): (&str, &str)| (line.to_owned(), brand.to_owned()));
            let found = resolved(&lines(), named.map(channel), brand.map(brand_id));
            assert_eq!(found, expected, "{named:?} {brand:?}");
        }
    }

    #[test]
    fn without_a_default_line_somebody_has_to_name_one() {
        let none = Lines { default: None, ..lines() };
        assert_eq!(resolved(&none, None, None), None);
        assert_eq!(resolved(&none, None, Some(brand_id("gamma"))), None);
        assert_eq!(resolved(&none, None, Some(brand_id("beta"))).unwrap().0, "2");
        assert_eq!(resolved(&none, Some(channel("3")), None).unwrap().0, "3");
        assert_eq!(resolved(&Lines::default(), None, None), None);
    }

    /// Up to four lines of up to three brands; each brand writes from one of its lines or from none.
    fn any_lines() -> impl Strategy<Value = Lines> {
        let choices = prop::collection::vec(any::<prop::sample::Index>(), 4);
        let owners = prop::collection::vec(0..3usize, 0..4);
        (owners, choices).prop_map(|(owners, choices)| {
            let lines: Vec<Line> = owners
                .iter()
                .enumerate()
                .map(|(at, owner)| line(&at.to_string(), &format!("b{owner}")))
                .collect();
            let one_of = |choice: prop::sample::Index, among: Vec<&Line>| {
                among.get(choice.index(among.len() + 1)).map(|line| line.channel.clone())
            };
            let brands = (0..3).map(|at| {
                let id = brand_id(&format!("b{at}"));
                let own = lines.iter().filter(|line| line.brand == id).collect();
                Brand { line: one_of(choices[at], own), ..brand(id.as_str(), None) }
            });
            let (brands, default) = (brands.collect(), one_of(choices[3], lines.iter().collect()));
            Lines { lines, brands, default }
        })
    }

    proptest! {
        #[test]
        fn what_was_resolved_keeps_what_was_named_and_means_the_same_when_spelled_out(
            lines in any_lines(),
            named in prop::option::of(0..5usize),
            brand in prop::option::of(0..4usize),
        ) {
            let named = named.map(|at| channel(&at.to_string()));
            let brand = brand.map(|at| brand_id(&format!("b{at}")));
            match lines.resolve(named.as_ref(), brand.as_ref()) {
                Ok((line, of)) => {
                    prop_assert_eq!(lines.line(&line.channel), Some(line));
                    prop_assert!(lines.brand(&of).is_some());
                    prop_assert_eq!(named.as_ref().unwrap_or(&line.channel), &line.channel);
                    prop_assert_eq!(brand.as_ref().unwrap_or(&line.brand), &of);
                    prop_assert_eq!(lines.resolve(Some(&line.channel), Some(&of)), Ok((line, of)));
                }
                Err(_) => {
                    let nobodys = named.as_ref().is_some_and(|id| lines.line(id).is_none())
                        || brand.as_ref().is_some_and(|id| lines.brand(id).is_none());
                    let nothing = named.is_none() && lines.default.is_none();
                    let of_another = named.as_ref().and_then(|id| lines.line(id)).map(|line| &line.brand) != brand.as_ref();
                    prop_assert!(nobodys || nothing || (named.is_some() && brand.is_some() && of_another));
                }
            }
        }
    }

    #[test]
    fn a_brands_first_line_becomes_its_own_and_later_ones_do_not() {
        let first = lines().admit_line(&line("4", "gamma")).unwrap().unwrap();
        assert_eq!(first, Brand { line: Some(channel("4")), version: 2, ..brand("gamma", None) });
        assert_eq!(lines().admit_line(&line("4", "beta")), Ok(None));
    }

    #[test]
    fn a_workspace_takes_50_lines_and_50_brands_each_id_once() {
        let unknown = LinesRefused::UnknownBrand(brand_id("delta"));
        assert_eq!(lines().admit_line(&line("4", "delta")), Err(unknown));
        assert_eq!(lines().admit_line(&line("3", "alpha")), Err(LinesRefused::LineExists(channel("3"))));
        assert_eq!(lines().admit_brand(&brand_id("beta")), Err(LinesRefused::BrandExists(brand_id("beta"))));

        let mut full = lines();
        full.lines.extend((3..Lines::MAX).map(|at| line(&format!("l{at}"), "beta")));
        full.brands.extend((3..Lines::MAX).map(|at| brand(&format!("b{at}"), None)));
        assert_eq!(full.admit_line(&line("4", "beta")), Err(LinesRefused::TooManyLines));
        assert_eq!(full.admit_brand(&brand_id("delta")), Err(LinesRefused::TooManyBrands));
        full.lines.pop();
        full.brands.pop();
        assert_eq!(full.admit_line(&line("4", "beta")), Ok(None));
        assert_eq!(full.admit_brand(&brand_id("delta")), Ok(()));
    }

    #[test]
    fn an_id_from_elsewhere_is_1_to_128_characters_and_not_blank() {
        for good in ["1055500001", "marca de viajes", "é", &"x".repeat(128)] {
            assert_eq!(BrandId::parse(good).unwrap().as_str(), good);
        }
        assert_eq!(ChannelId::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(ChannelId::parse(&"x".repeat(129)), Err(Unfit::TooLong { max: 128 }));
        for bad in ["  ", "a\u{0}", "a\nb"] {
            assert!(matches!(BusinessAccountId::parse(bad), Err(Unfit::Value { .. })), "{bad:?}");
        }
    }

    #[test]
    fn a_lines_channel_means_nothing_but_itself_in_a_url() {
        let made = |id: &str| {
            let account = BusinessAccountId::parse("1").unwrap();
            Line::new(workspace(), channel(id), brand_id("alpha"), account, NOW)
        };
        for good in ["1055500001", "test_line-A"] {
            assert_eq!(made(good).unwrap().channel.as_str(), good);
        }
        for bad in ["1/2", "..", "1?x=2", "1#2", "1 2", "1%2f", "é"] {
            assert!(matches!(made(bad), Err(Unfit::Shape { .. })), "{bad}");
        }
    }

    #[test]
    fn a_token_fits_a_header_and_prints_redacted() {
        let token = Line::token("EAAB-token_1.2|3").unwrap();
        assert_eq!((token.expose(), format!("{token:?}").as_str()), ("EAAB-token_1.2|3", "[redacted]"));
        assert!(Line::token(&"x".repeat(4_096)).is_ok());
        for bad in ["", "a b", "a\n", "é", &"x".repeat(4_097)] {
            assert!(matches!(Line::token(bad), Err(Unfit::Shape { .. })), "{bad}");
        }
    }

    #[test]
    fn the_providers_words_are_read_back() {
        assert_eq!(Provider::parse("WHATSAPP"), Ok(Provider::WhatsApp));
        assert_eq!(Provider::parse("SMS"), Err(Unfit::NotOneOf { expected: &["WHATSAPP"] }));
    }
}
