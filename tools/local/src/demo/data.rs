//! What the demo consists of, as tables.

/// A workspace of the demo.
pub(super) struct Demo {
    pub(super) name: &'static str,
    pub(super) users: [Person; 4],
    /// Made and then disabled.
    pub(super) former_user: Person,
    pub(super) team: &'static str,
    pub(super) contacts: &'static str,
    pub(super) brands: &'static [Brand],
    /// Its own; those of the platform come besides.
    pub(super) templates: &'static [Template],
    pub(super) onboarding: Onboarding,
    pub(super) capture: Capture,
}

/// E-mail, first and last name.
pub(super) type Person = (&'static str, &'static str, &'static str);

/// CLOSED when there are values to choose from, else OPEN.
pub(super) struct Definition {
    pub(super) key: &'static str,
    pub(super) r#type: &'static str,
    pub(super) values: &'static [&'static str],
    pub(super) required: bool,
    pub(super) archived: bool,
}

/// A brand and the lines it writes from.
pub(super) struct Brand {
    pub(super) name: &'static str,
    pub(super) lines: &'static [Line],
}

/// A line; the first of a workspace is its default.
pub(super) struct Line {
    pub(super) channel: &'static str,
    pub(super) business_account: &'static str,
}

/// A template, as the console takes it.
pub(super) struct Template {
    pub(super) name: &'static str,
    pub(super) language: &'static str,
    pub(super) variables: &'static [&'static str],
    pub(super) approved: &'static [&'static str],
}

/// What opens a workspace's conversations: templates by their names, its own or the platform's.
pub(super) struct Onboarding {
    pub(super) overriding: &'static str,
    pub(super) sequence: &'static [&'static str],
}

/// How leads are taken: for the workspace's first brand.
pub(super) struct Capture {
    /// Whether they are; all else is set up in any case.
    pub(super) enabled: bool,
    /// Whether the demo's landing page is one of its pages.
    pub(super) landing_page: bool,
    /// Where its pages are said to be.
    pub(super) origin: &'static str,
    /// The captcha simulator takes a secret for that of the host that it names.
    pub(super) secret: &'static str,
    /// What is sent to a lead: a template by its name.
    pub(super) template: &'static str,
}

/// Two to work with, and one whose own set-up is at fault and that takes no leads.
pub(super) const DEMOS: [Demo; 3] = [
    Demo {
        name: "Aster Travel",
        users: [
            ("ada.okafor@aster.example.com", "Ada", "Okafor"),
            ("bram.visser@aster.example.com", "Bram", "Visser"),
            ("chloe.marchand@aster.example.com", "Chloé", "Marchand"),
            ("diego.salas@aster.example.com", "Diego", "Salas"),
        ],
        former_user: ("erik.holm@aster.example.com", "Erik", "Holm"),
        team: "Travel desk",
        contacts: "tools/local/demo/aster-travel.csv",
        brands: &[
            Brand {
                name: "Aster Travel",
                lines: &[Line { channel: "105550000000001", business_account: ASTER }],
            },
            Brand {
                name: "Aster Cruises",
                lines: &[Line { channel: "105550000000002", business_account: ASTER_CRUISES }],
            },
        ],
        templates: &[
            Template {
                name: "trip_hello",
                language: "en",
                variables: &[HELLO],
                approved: &[ASTER, ASTER_CRUISES],
            },
            Template {
                name: "trip_booked",
                language: "en",
                variables: &[HELLO, "booking=CALLER"],
                approved: &[ASTER, ASTER_CRUISES],
            },
            Template { name: "trip_offers", language: "es", variables: &[], approved: &[ASTER] },
            Template { name: "trip_survey", language: "en", variables: &[], approved: &[] },
        ],
        onboarding: Onboarding { overriding: "ENTIRE", sequence: &["trip_hello", "welcome"] },
        capture: Capture {
            enabled: true,
            landing_page: true,
            origin: "https://www.aster.example",
            secret: "secret-for-127.0.0.1",
            template: "trip_hello",
        },
    },
    Demo {
        name: "Borealis Insurance",
        users: [
            ("freya.nilsen@borealis.example.com", "Freya", "Nilsen"),
            ("goran.babic@borealis.example.com", "Goran", "Babić"),
            ("hanna.virtanen@borealis.example.com", "Hanna", "Virtanen"),
            ("imran.shah@borealis.example.com", "Imran", "Shah"),
        ],
        former_user: ("june.adler@borealis.example.com", "June", "Adler"),
        team: "Claims",
        contacts: "tools/local/demo/borealis-insurance.csv",
        brands: &[Brand {
            name: "Borealis",
            lines: &[
                Line { channel: "105550000000003", business_account: BOREALIS },
                Line { channel: "105550000000004", business_account: BOREALIS },
            ],
        }],
        templates: &[
            Template { name: "claim_hello", language: "en", variables: &[HELLO], approved: &[BOREALIS] },
            Template { name: "claim_hours", language: "en", variables: &[], approved: &[BOREALIS] },
            Template {
                name: "claim_opened",
                language: "en_US",
                variables: &["claim=CALLER", HELLO],
                approved: &[BOREALIS],
            },
            Template { name: "claim_survey", language: "en", variables: &[], approved: &[] },
        ],
        onboarding: Onboarding {
            overriding: "FIRST_ONLY",
            sequence: &["claim_hello", "welcome", "claim_hours"],
        },
        capture: Capture {
            enabled: true,
            landing_page: false,
            origin: "https://www.borealis.example",
            secret: "secret-for-www.borealis.example",
            template: "claim_hello",
        },
    },
    // Its sequence has a later template that only a caller could fill: no conversation can be opened (0608).
    Demo {
        name: "Cobalt Fitness",
        users: [
            ("ines.duarte@cobalt.example.com", "Inês", "Duarte"),
            ("jonas.keller@cobalt.example.com", "Jonas", "Keller"),
            ("keiko.tanabe@cobalt.example.com", "Keiko", "Tanabe"),
            ("lars.moen@cobalt.example.com", "Lars", "Moen"),
        ],
        former_user: ("mira.stein@cobalt.example.com", "Mira", "Stein"),
        team: "Front desk",
        contacts: "tools/local/demo/cobalt-fitness.csv",
        brands: &[Brand {
            name: "Cobalt",
            lines: &[Line { channel: "105550000000005", business_account: COBALT }],
        }],
        templates: &[
            Template { name: "gym_hello", language: "en", variables: &[HELLO], approved: &[COBALT] },
            Template {
                name: "gym_course",
                language: "en",
                variables: &["course=CALLER"],
                approved: &[COBALT],
            },
            Template { name: "gym_survey", language: "en", variables: &[], approved: &[] },
        ],
        onboarding: Onboarding { overriding: "FIRST_ONLY", sequence: &["gym_hello", "gym_course"] },
        capture: Capture {
            enabled: false,
            landing_page: false,
            origin: "https://www.cobalt.example",
            secret: "secret-for-www.cobalt.example",
            template: "gym_hello",
        },
    },
];

/// The templates of the platform, which every workspace may use where they are approved.
pub(super) const PLATFORM: [Template; 3] = [
    Template {
        name: "welcome",
        language: "en",
        variables: &[],
        approved: &[ASTER, ASTER_CRUISES, BOREALIS, COBALT],
    },
    Template {
        name: "appointment",
        language: "en",
        variables: &[HELLO, "day=CALLER", "time=CALLER"],
        approved: &[ASTER, ASTER_CRUISES, BOREALIS, COBALT],
    },
    Template { name: "season_greetings", language: "en", variables: &[], approved: &[] },
];

// Accounts at the provider.
const ASTER: &str = "205550000000001";
const ASTER_CRUISES: &str = "205550000000002";
const BOREALIS: &str = "205550000000003";
const COBALT: &str = "205550000000004";

/// A variable that everybody has a value for: the contact's first name, or a word in its place.
const HELLO: &str = "name=CONTACT.firstName:there";

/// The same in all workspaces; the CSV files have a column for each but the archived one.
pub(super) const ATTRIBUTES: [Definition; 8] = [
    Definition { key: "company", r#type: "TEXT", values: &[], required: true, archived: false },
    Definition { key: "customerSince", r#type: "DATE", values: &[], required: false, archived: false },
    Definition { key: "seats", r#type: "NUMBER", values: &[], required: false, archived: false },
    Definition { key: "newsletter", r#type: "BOOLEAN", values: &[], required: false, archived: false },
    Definition {
        key: "plan",
        r#type: "TEXT",
        values: &["Free", "Team", "Enterprise"],
        required: true,
        archived: false,
    },
    Definition {
        key: "interests",
        r#type: "TEXT",
        values: &["Offers", "Events", "Product news", "Surveys"],
        required: false,
        archived: false,
    },
    Definition {
        key: "priority",
        r#type: "NUMBER",
        values: &["1", "2", "3"],
        required: false,
        archived: false,
    },
    Definition { key: "fax", r#type: "TEXT", values: &[], required: false, archived: true },
];

pub(super) const READ_ONLY: [&str; 4] =
    ["conversations:read", "contacts:read", "settings:read", "users:read"];

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(demo: &Demo) -> impl Iterator<Item = &'static Template> {
        demo.templates.iter().chain(&PLATFORM)
    }

    fn asks(template: &Template) -> bool {
        template.variables.iter().any(|variable| variable.ends_with("=CALLER"))
    }

    #[test]
    fn a_sequence_is_of_templates_that_can_be_sent_on_every_line_of_the_workspace() {
        for demo in &DEMOS {
            let accounts = demo.brands.iter().flat_map(|brand| brand.lines).map(|line| line.business_account);
            for name in demo.onboarding.sequence {
                let template = templates(demo).find(|template| template.name == *name).unwrap();
                assert!(accounts.clone().all(|account| template.approved.contains(&account)), "{name}");
            }
        }
    }

    #[test]
    fn the_last_workspace_alone_asks_in_a_later_template_what_only_callers_know() {
        for (at, demo) in DEMOS.iter().enumerate() {
            let asking = |name: &&str| asks(templates(demo).find(|template| template.name == *name).unwrap());
            let places: Vec<usize> = demo
                .onboarding
                .sequence
                .iter()
                .enumerate()
                .filter(|(_, name)| asking(name))
                .map(|(at, _)| at)
                .collect();
            assert_eq!(places, if at == 2 { vec![1] } else { vec![] }, "{}", demo.name);
        }
        let overriding = DEMOS.map(|demo| demo.onboarding.overriding);
        assert_eq!(overriding, ["ENTIRE", "FIRST_ONLY", "FIRST_ONLY"]);
    }

    #[test]
    fn each_workspace_has_of_its_own_and_of_the_platforms_what_can_be_sent_what_asks_and_what_is_refused() {
        for demo in &DEMOS {
            let account = demo.brands[0].lines[0].business_account;
            for scope in [demo.templates, &PLATFORM] {
                let approved = |template: &&Template| template.approved.contains(&account);
                assert!(scope.iter().filter(approved).any(|template| !asks(template)), "{}", demo.name);
                assert!(scope.iter().filter(approved).any(asks), "{}", demo.name);
                assert!(scope.iter().any(|template| template.approved.is_empty()), "{}", demo.name);
            }
        }
    }

    #[test]
    fn leads_are_sent_a_template_that_asks_nobody_and_is_approved_for_the_first_brands_line() {
        for demo in &DEMOS {
            let template = templates(demo).find(|template| template.name == demo.capture.template).unwrap();
            assert!(!asks(template), "{}", demo.name);
            assert!(template.approved.contains(&demo.brands[0].lines[0].business_account), "{}", demo.name);
        }
    }

    #[test]
    fn the_captchas_host_is_that_of_a_page_of_the_workspace() {
        for demo in &DEMOS {
            let page = if demo.capture.landing_page { "https://127.0.0.1" } else { demo.capture.origin };
            assert_eq!(demo.capture.secret.strip_prefix("secret-for-"), page.strip_prefix("https://"));
        }
        assert_eq!(DEMOS.map(|demo| demo.capture.landing_page), [true, false, false]);
        assert_eq!(DEMOS.map(|demo| demo.capture.enabled), [true, true, false]);
    }

    #[test]
    fn no_contact_has_a_number_for_which_the_simulated_provider_misbehaves() {
        for demo in &DEMOS {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(demo.contacts);
            let csv = std::fs::read_to_string(path).unwrap();
            assert!(csv.lines().count() > 50, "{}", demo.name);
            for row in csv.lines() {
                let phone = row.split(',').nth(3).unwrap();
                let last = &phone[phone.len().saturating_sub(4)..];
                assert!(!["0001", "0002", "0003", "0004", "0005", "0006"].contains(&last), "{row}");
            }
        }
    }
}
