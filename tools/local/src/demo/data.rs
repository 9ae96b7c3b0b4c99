//! The demo's content, as tables.

use serde_json::{Value, json};

/// A workspace of the demo.
pub(super) struct Demo {
    pub(super) name: &'static str,
    pub(super) users: [DemoUser; 4],
    /// A user that the demo creates and then disables.
    pub(super) former_user: DemoUser,
    pub(super) team: &'static str,
    pub(super) contacts: &'static str,
    pub(super) brands: &'static [Brand],
    /// The workspace's own templates. The platform's templates come in addition.
    pub(super) templates: &'static [Template],
    pub(super) onboarding: Onboarding,
    pub(super) capture: Capture,
}

/// E-mail address, first name and last name.
pub(super) type DemoUser = (&'static str, &'static str, &'static str);

/// An attribute: CLOSED if it has `values`, otherwise OPEN.
pub(super) struct Definition {
    pub(super) key: &'static str,
    pub(super) r#type: &'static str,
    pub(super) values: &'static [&'static str],
    pub(super) state: State,
}

/// What the demo makes of an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Required,
    Optional,
    Archived,
}

const fn attribute(
    key: &'static str,
    r#type: &'static str,
    values: &'static [&'static str],
    state: State,
) -> Definition {
    Definition { key, r#type, values, state }
}

/// A brand and the lines from which it sends messages.
pub(super) struct Brand {
    pub(super) name: &'static str,
    pub(super) lines: &'static [Line],
}

/// A line. The first line of a workspace is its default.
pub(super) struct Line {
    pub(super) channel: &'static str,
    pub(super) business_account: &'static str,
}

/// A template. With a text, the provider has it for the accounts, and the console reads it from there. Without one, an operator
/// enters it.
pub(super) struct Template {
    pub(super) name: &'static str,
    pub(super) language: &'static str,
    pub(super) category: &'static str,
    /// The body, with the names of its values in braces.
    pub(super) text: Option<&'static str>,
    /// The sources of values, as the console accepts them. The others come from the caller.
    pub(super) sources: &'static [&'static str],
    /// The accounts that have the template.
    pub(super) approved: &'static [&'static str],
}

const fn template(
    name: &'static str,
    language: &'static str,
    category: &'static str,
    text: &'static str,
    approved: &'static [&'static str],
) -> Template {
    Template { name, language, category, text: Some(text), sources: &[], approved }
}

/// A template of which the service knows the name only, and which no account has yet.
const fn entered(name: &'static str, category: &'static str) -> Template {
    Template { name, language: "en", category, text: None, sources: &[], approved: &[] }
}

impl Template {
    /// The same with the value `name` from the contact.
    const fn greets(self) -> Self {
        Self { sources: &[HELLO], ..self }
    }

    /// The names of the values.
    pub(super) fn values(&self) -> Vec<&'static str> {
        let after = self.text.unwrap_or_default().split("{{").skip(1);
        after.filter_map(|rest| rest.split("}}").next()).collect()
    }

    /// The template as the provider lists it.
    pub(super) fn listed(&self) -> Value {
        json!({
            "name": self.name,
            "language": self.language,
            "category": self.category,
            "parameter_format": if self.values().is_empty() { "POSITIONAL" } else { "NAMED" },
            "components": [{ "type": "BODY", "text": self.text }],
        })
    }
}

/// The templates that open a workspace's conversations, by name: its own or the platform's.
pub(super) struct Onboarding {
    pub(super) overriding: &'static str,
    pub(super) sequence: &'static [&'static str],
    /// A template of the sequence that loses its approvals after the set-up.
    pub(super) revoked: Option<&'static str>,
}

/// The lead capture of the workspace, for its first brand.
pub(super) struct Capture {
    /// Whether lead capture is enabled. The demo sets up the rest in any case.
    pub(super) enabled: bool,
    /// Whether the origin of the demo's landing page is allowed.
    pub(super) landing_page: bool,
    /// The (invented) origin of the workspace's pages.
    pub(super) origin: &'static str,
    /// The captcha secret. The captcha simulator reads the hostname of its answers from it.
    pub(super) secret: &'static str,
    /// The name of the template that the service sends to a lead.
    pub(super) template: &'static str,
}

/// Two usable workspaces, and one whose onboarding is misconfigured and whose lead capture is disabled.
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
            template(
                "trip_hello",
                "en",
                UTILITY,
                "Hello {{name}}, thank you for writing to Aster Travel. How can we help?",
                &[ASTER, ASTER_CRUISES],
            )
            .greets(),
            template(
                "trip_booked",
                "en",
                UTILITY,
                "Hello {{name}}, your trip is booked. Your booking number is {{booking}}.",
                &[ASTER, ASTER_CRUISES],
            )
            .greets(),
            template("trip_offers", "es", MARKETING, "Mira nuestras ofertas de esta semana.", &[ASTER]),
            entered("trip_survey", MARKETING),
        ],
        onboarding: Onboarding { overriding: "ENTIRE", sequence: &["trip_hello", "welcome"], revoked: None },
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
            template("claim_hello", "en", UTILITY, "Hello {{name}}, this is Borealis.", &[BOREALIS]).greets(),
            template("claim_callback", "en", UTILITY, "Hello {{name}}, we call you back today.", &[BOREALIS])
                .greets(),
            template("claim_hours", "en", UTILITY, "We answer from 9 to 17 on working days.", &[BOREALIS]),
            template(
                "claim_opened",
                "en_US",
                UTILITY,
                "Your claim {{claim}} is open, {{name}}. We call you soon.",
                &[BOREALIS],
            )
            .greets(),
            entered("claim_survey", MARKETING),
        ],
        onboarding: Onboarding {
            overriding: "FIRST_ONLY",
            sequence: &["claim_hello", "welcome", "claim_hours"],
            revoked: None,
        },
        capture: Capture {
            enabled: true,
            landing_page: false,
            origin: "https://www.borealis.example",
            secret: "secret-for-www.borealis.example",
            template: "claim_callback",
        },
    },
    // A later template of its sequence lost its approval, so no conversation can be opened (0602).
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
            template("gym_hello", "en", UTILITY, "Hello {{name}}, welcome to Cobalt.", &[COBALT]).greets(),
            template("gym_course", "en", UTILITY, "Your course {{course}} begins soon.", &[COBALT]),
            template("gym_hours", "en", UTILITY, "We are open from 6 to 23.", &[COBALT]),
            entered("gym_survey", MARKETING),
        ],
        onboarding: Onboarding {
            overriding: "FIRST_ONLY",
            sequence: &["gym_hello", "gym_hours"],
            revoked: Some("gym_hours"),
        },
        capture: Capture {
            enabled: false,
            landing_page: false,
            origin: "https://www.cobalt.example",
            secret: "secret-for-www.cobalt.example",
            template: "gym_hello",
        },
    },
];

/// The platform's templates. Every workspace can use them on the accounts that have them.
pub(super) const PLATFORM: [Template; 3] = [
    template("welcome", "en", UTILITY, "Welcome! We answer here.", &ACCOUNTS),
    template(
        "appointment",
        "en",
        UTILITY,
        "Hello {{name}}, your appointment is on {{day}} at {{time}}.",
        &ACCOUNTS,
    )
    .greets(),
    entered("season_greetings", MARKETING),
];

// The business accounts at the provider.
const ASTER: &str = "205550000000001";
const ASTER_CRUISES: &str = "205550000000002";
pub(super) const BOREALIS: &str = "205550000000003";
const COBALT: &str = "205550000000004";

/// All business accounts.
pub(super) const ACCOUNTS: [&str; 4] = [ASTER, ASTER_CRUISES, BOREALIS, COBALT];

// The categories of templates.
const UTILITY: &str = "UTILITY";
const MARKETING: &str = "MARKETING";

/// A variable that always has a value: the contact's first name, or a default word.
const HELLO: &str = "name=CONTACT.firstName:there";

/// The attributes, which are the same in all workspaces. The CSV files have a column for each attribute except the
/// archived one.
pub(super) const ATTRIBUTES: [Definition; 8] = [
    attribute("company", "TEXT", &[], State::Required),
    attribute("customerSince", "DATE", &[], State::Optional),
    attribute("seats", "NUMBER", &[], State::Optional),
    attribute("newsletter", "BOOLEAN", &[], State::Optional),
    attribute("plan", "TEXT", &["Free", "Team", "Enterprise"], State::Required),
    attribute("interests", "TEXT", &["Offers", "Events", "Product news", "Surveys"], State::Optional),
    attribute("priority", "NUMBER", &["1", "2", "3"], State::Optional),
    attribute("fax", "TEXT", &[], State::Archived),
];

pub(super) const READ_ONLY: [&str; 7] = [
    "conversations:read",
    "contacts:read",
    "settings:read",
    "users:read",
    "messages:read",
    "files:read",
    "templates:read",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(demo: &Demo) -> impl Iterator<Item = &'static Template> {
        demo.templates.iter().chain(&PLATFORM)
    }

    fn asks(template: &Template) -> bool {
        let has_source =
            |value: &&str| template.sources.iter().any(|source| source.starts_with(&format!("{value}=")));
        template.values().iter().any(|value| !has_source(value))
    }

    #[test]
    fn every_template_of_a_sequence_can_be_sent_on_every_line_of_the_workspace() {
        for demo in &DEMOS {
            let accounts = demo.brands.iter().flat_map(|brand| brand.lines).map(|line| line.business_account);
            for name in demo.onboarding.sequence {
                let template = templates(demo).find(|template| template.name == *name).unwrap();
                assert!(accounts.clone().all(|account| template.approved.contains(&account)), "{name}");
            }
        }
    }

    #[test]
    fn only_the_last_workspace_loses_the_approval_of_a_later_template_and_none_needs_caller_values() {
        for (at, demo) in DEMOS.iter().enumerate() {
            let sequence = demo.onboarding.sequence;
            for name in sequence {
                assert!(!asks(templates(demo).find(|template| template.name == *name).unwrap()), "{name}");
            }
            let revoked = demo.onboarding.revoked;
            let place = revoked.map(|revoked| sequence.iter().position(|name| *name == revoked).unwrap());
            assert_eq!(place, (at == 2).then_some(1), "{}", demo.name);
            // A workspace can revoke its own templates only.
            assert!(revoked.is_none_or(|name| demo.templates.iter().any(|template| template.name == name)));
        }
        let overriding = DEMOS.map(|demo| demo.onboarding.overriding);
        assert_eq!(overriding, ["ENTIRE", "FIRST_ONLY", "FIRST_ONLY"]);
    }

    #[test]
    fn both_scopes_have_a_sendable_template_one_that_needs_caller_values_and_an_unapproved_one() {
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
    fn the_lead_template_needs_no_caller_values_and_is_approved_for_the_first_brands_line() {
        for demo in &DEMOS {
            let template = templates(demo).find(|template| template.name == demo.capture.template).unwrap();
            assert!(!asks(template), "{}", demo.name);
            assert!(template.approved.contains(&demo.brands[0].lines[0].business_account), "{}", demo.name);
        }
    }

    #[test]
    fn the_captcha_secret_names_the_host_of_a_page_of_the_workspace() {
        for demo in &DEMOS {
            let page = if demo.capture.landing_page { "https://127.0.0.1" } else { demo.capture.origin };
            assert_eq!(demo.capture.secret.strip_prefix("secret-for-"), page.strip_prefix("https://"));
        }
        assert_eq!(DEMOS.map(|demo| demo.capture.landing_page), [true, false, false]);
        assert_eq!(DEMOS.map(|demo| demo.capture.enabled), [true, true, false]);
    }

    #[test]
    fn no_contact_has_a_number_for_which_the_provider_simulator_fails() {
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
