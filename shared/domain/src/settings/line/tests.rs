use proptest::prelude::*;
use uuid::Uuid;

use super::*;

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
    Brand { line: line.map(channel), ..Brand::new(brand_id(id), workspace(), id, NOW).unwrap() }
}

fn lines() -> Lines {
    Lines {
        lines: vec![line("1", "alpha"), line("2", "beta"), line("3", "beta")],
        brands: vec![brand("alpha", Some("1")), brand("beta", Some("2")), brand("gamma", None)],
        default: Some(channel("1")),
    }
}

/// The resolved line and brand, as channel and brand id.
fn resolved(lines: &Lines, channel: Option<ChannelId>, brand: Option<BrandId>) -> Option<(String, String)> {
    match lines.resolve(channel.as_ref(), brand.as_ref()) {
        Ok((line, brand)) => Some((line.channel.as_str().to_owned(), brand.as_str().to_owned())),
        Err(refused) => {
            assert_eq!(refused, Refused::UnknownLine { channel, brand });
            None
        }
    }
}

#[test]
fn a_participant_gets_the_given_line_else_the_brands_else_the_default() {
    let rows = [
        (None, None, Some(("1", "alpha"))),
        (Some("3"), None, Some(("3", "beta"))),
        (None, Some("beta"), Some(("2", "beta"))),
        (Some("3"), Some("beta"), Some(("3", "beta"))),
        // A brand without a line sends from the default line under its own name, also if both are given.
        (None, Some("gamma"), Some(("1", "gamma"))),
        (Some("1"), Some("gamma"), Some(("1", "gamma"))),
        (Some("2"), Some("gamma"), None),
        // Lines of other brands.
        (Some("3"), Some("alpha"), None),
        (Some("1"), Some("beta"), None),
        // Ids that do not exist, in any combination.
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
fn without_a_default_line_the_request_or_brand_must_give_one() {
    let none = Lines { default: None, ..lines() };
    assert_eq!(resolved(&none, None, None), None);
    assert_eq!(resolved(&none, None, Some(brand_id("gamma"))), None);
    assert_eq!(resolved(&none, None, Some(brand_id("beta"))).unwrap().0, "2");
    assert_eq!(resolved(&none, Some(channel("3")), None).unwrap().0, "3");
    assert_eq!(resolved(&Lines::default(), None, None), None);
}

/// Up to four lines of up to three brands. Each brand has one of its lines as default, or none.
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
    fn a_resolved_pair_keeps_the_given_ids_and_resolves_to_itself(
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
fn a_brands_first_line_becomes_its_default_and_later_ones_do_not() {
    let first = lines().admit_line(&line("4", "gamma")).unwrap().unwrap();
    assert_eq!(first, Brand { line: Some(channel("4")), version: 2, ..brand("gamma", None) });
    assert_eq!(lines().admit_line(&line("4", "beta")), Ok(None));
}

#[test]
fn a_workspace_admits_50_lines_and_50_brands_with_unique_ids() {
    let unknown = LinesRefused::UnknownBrand(brand_id("delta"));
    assert_eq!(lines().admit_line(&line("4", "delta")), Err(unknown));
    assert_eq!(lines().admit_line(&line("3", "alpha")), Err(LinesRefused::LineExists(channel("3"))));
    let again = lines().admit_brand(&brand("beta", None));
    assert_eq!(again, Err(LinesRefused::BrandExists(brand_id("beta"))));

    let mut full = lines();
    full.lines.extend((3..Lines::MAX).map(|at| line(&format!("l{at}"), "beta")));
    full.brands.extend((3..Lines::MAX).map(|at| brand(&format!("b{at}"), None)));
    assert_eq!(full.admit_line(&line("4", "beta")), Err(LinesRefused::TooManyLines));
    assert_eq!(full.admit_brand(&brand("delta", None)), Err(LinesRefused::TooManyBrands));
    full.lines.pop();
    full.brands.pop();
    assert_eq!(full.admit_line(&line("4", "beta")), Ok(None));
    assert_eq!(full.admit_brand(&brand("delta", None)), Ok(()));
}

#[test]
fn no_two_brands_and_no_two_lines_have_the_same_name() {
    let named = |id: &str, name: &str| Brand { name: name.to_owned(), ..brand(id, None) };
    let taken = NameTaken::Brand(brand_id("beta"));
    for name in ["beta", "BETA", " Beta "] {
        assert_eq!(lines().admit_brand(&named("delta", name)), Err(taken.clone().into()), "{name:?}");
        assert_eq!(lines().check_brand_name(&named("alpha", name)), Err(taken.clone()), "{name:?}");
        // A brand may change the case of its own name.
        assert_eq!(lines().check_brand_name(&named("beta", name)), Ok(()), "{name:?}");
    }

    let called = |id: &str, name: &str| line(id, "beta").renamed(name).unwrap().unwrap();
    let mut lines = lines();
    lines.lines[1] = called("2", "Sales");
    let taken = NameTaken::Line(channel("2"));
    assert_eq!(lines.admit_line(&called("4", " sales")), Err(taken.clone().into()));
    assert_eq!(lines.check_line_name(&called("3", "SALES")), Err(taken));
    assert_eq!(lines.check_line_name(&called("2", "SALES")), Ok(()));
    // Lines without a name do not collide.
    assert_eq!(lines.admit_line(&line("4", "beta")), Ok(None));
    assert_eq!(lines.check_line_name(&called("3", "Support")), Ok(()));
}

#[test]
fn a_rename_is_the_next_version_and_a_repeated_one_changes_nothing() {
    let renamed = brand("beta", Some("2")).renamed("Beta Kids").unwrap().unwrap();
    let expected = Brand { name: "Beta Kids".to_owned(), version: 2, ..brand("beta", Some("2")) };
    assert_eq!(renamed, expected);
    assert_eq!(renamed.renamed("Beta Kids"), Ok(None));
    assert!(renamed.renamed(" ").is_err());

    let renamed = line("1", "beta").renamed("Sales").unwrap().unwrap();
    assert_eq!(renamed, Line { name: Some("Sales".to_owned()), version: 2, ..line("1", "beta") });
    assert_eq!(renamed.renamed("Sales"), Ok(None));
    assert!(renamed.renamed("a\nb").is_err());
}

#[test]
fn a_brand_gets_another_default_line_or_none() {
    let beta = brand("beta", Some("2"));
    let other = Brand { line: Some(channel("3")), version: 2, ..beta.clone() };
    assert_eq!(beta.with_line(Some(&channel("3"))), Some(other));
    assert_eq!(beta.with_line(Some(&channel("2"))), None);
    assert_eq!(beta.with_line(None), Some(Brand { line: None, version: 2, ..beta.clone() }));
}

#[test]
fn an_external_id_has_1_to_128_characters_and_is_not_blank() {
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
fn a_lines_channel_has_no_special_characters_of_urls() {
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
fn a_token_has_only_visible_characters_and_prints_redacted() {
    let token = Line::token("EAAB-token_1.2|3").unwrap();
    assert_eq!((token.expose(), format!("{token:?}").as_str()), ("EAAB-token_1.2|3", "[redacted]"));
    assert!(Line::token(&"x".repeat(4_096)).is_ok());
    for bad in ["", "a b", "a\n", "é", &"x".repeat(4_097)] {
        assert!(matches!(Line::token(bad), Err(Unfit::Shape { .. })), "{bad}");
    }
}

#[test]
fn the_names_of_providers_parse() {
    assert_eq!(Provider::parse("WHATSAPP"), Ok(Provider::WhatsApp));
    assert_eq!(Provider::parse("SMS"), Err(Unfit::NotOneOf { expected: &["WHATSAPP"] }));
}

#[test]
fn a_new_token_makes_a_new_version_of_the_line() {
    let before = line("1", "alpha");
    let expected = Line { version: 2, ..before.clone() };
    assert_eq!(before.with_new_token(), expected);
    assert_eq!(expected.with_new_token().version, 3);
}
