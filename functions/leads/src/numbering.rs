//! Checks whether a phone number is valid in its country's numbering plan.

use domain::Cellphone;
use regex_lite::Regex;

/// The plans of the world by country calling code, which `functions/leads/numbering.py` writes.
const PLANS: &[(&str, &[Plan])] = include!("numbering/plans.in");

/// The numbering plan of one of the countries that share a calling code.
struct Plan {
    /// The common pattern of all numbers. It is checked first, so only few of the up to 25 plans of a calling code
    /// are checked further.
    all: Kind,
    /// The patterns of mobiles, fixed lines and services of all kinds.
    given_out: &'static [Kind],
}

/// A kind of numbers, without the calling code.
struct Kind {
    /// The allowed numbers of digits. If empty, any length is allowed.
    lengths: &'static [usize],
    /// A regular expression for the whole number.
    pattern: &'static str,
}

/// Whether the numbering plan of the calling code has such numbers. This includes fixed lines and services, because
/// many plans cannot distinguish them from mobiles.
///
/// An E.164 number has no trunk prefix, so nothing is guessed and the plans apply directly. A plan knows one written
/// form of a number, and each of its forms is valid.
pub fn is_valid(phone: &Cellphone) -> bool {
    phone.key().forms().iter().any(|form| is_in_a_plan(form))
}

fn is_in_a_plan(digits: &str) -> bool {
    // No calling code is the beginning of another.
    PLANS
        .iter()
        .find_map(|(code, plans)| Some((plans, digits.strip_prefix(code)?)))
        .is_some_and(|(plans, national)| plans.iter().any(|plan| plan.knows(national)))
}

impl Plan {
    fn knows(&self, national: &str) -> bool {
        self.all.fits(national) && self.given_out.iter().any(|kind| kind.fits(national))
    }
}

impl Kind {
    fn fits(&self, national: &str) -> bool {
        (self.lengths.is_empty() || self.lengths.contains(&national.len())) && self.matches(national)
    }

    fn matches(&self, national: &str) -> bool {
        Regex::new(&format!("^(?:{})$", self.pattern)).is_ok_and(|pattern| pattern.is_match(national))
    }
}

#[cfg(test)]
mod tests {
    use phonenumber::metadata::DATABASE;

    use super::*;

    /// A number of each kind of each plan, from the same source as the plans.
    const EXAMPLES: &str = include_str!("numbering/examples.txt");

    fn valid(number: &str) -> bool {
        is_valid(&Cellphone::parse(number).unwrap())
    }

    #[test]
    fn mobiles_of_many_countries_are_valid() {
        for number in [
            "+34600111222",   // Spain
            "+34711222333",   // Spain, the newer range
            "+12025550123",   // United States; the plan does not know that 555-01xx are for films
            "+14165550123",   // Canada
            "+18765550123",   // Jamaica
            "+525512345678",  // Mexico
            "+5511987654321", // Brazil, nine digits
            "+5491123456789", // Argentina, with the mobiles' 9
            "+4915112345678", // Germany
            "+491701234567",  // Germany, one digit fewer
            "+447911123456",  // United Kingdom
            "+919876543210",  // India
            "+2348031234567", // Nigeria
            "+6281234567890", // Indonesia
            "+33612345678",   // France
            "+393123456789",  // Italy
            "+351912345678",  // Portugal
            "+573001234567",  // Colombia
            "+56961234567",   // Chile
            "+51912345678",   // Peru
            "+8613912345678", // China
            "+819012345678",  // Japan
            "+61412345678",   // Australia
            "+27821234567",   // South Africa
            "+971501234567",  // United Arab Emirates
            "+79161234567",   // Russia
            "+77011234567",   // Kazakhstan, which shares Russia's code
            "+50688887777",   // Costa Rica
            "+37061234567",   // Lithuania
            "+6421387835",    // New Zealand
            // Ranges that were given out in 2026.
            "+593931336569", // Ecuador
            "+212730314325", // Morocco
            "+254182030433", // Kenya
            "+46780355701",  // Sweden
            "+243874324924", // Congo
            "+258883218309", // Mozambique
            "+237642006185", // Cameroon
        ] {
            assert!(valid(number), "{number}");
        }
    }

    #[test]
    fn fixed_lines_and_services_are_valid() {
        for number in [
            "+34910112233",  // Madrid
            "+390236618300", // Milan, whose zero is part of the number
            "+551123456789", // São Paulo, eight digits
            "+541123456789", // Buenos Aires, without the mobiles' 9
            "+442071234567", // London
            "+493012345678", // Berlin
            "+911123456789", // Delhi
            "+78001234567",  // Russia's toll-free 8-800
            "+37080012345",  // Lithuania's toll-free, whose trunk prefix is also an 8
            "+80012345678",  // international toll-free
            "+34806123456",  // a premium rate
        ] {
            assert!(valid(number), "{number}");
        }
    }

    #[test]
    fn numbers_outside_every_plan_are_invalid() {
        for number in [
            "+3460011122",     // Spain, a digit short
            "+346001112223",   // Spain, a digit long
            "+34100111222",    // Spain, no such range
            "+1202555012",     // North America, a digit short
            "+120255501234",   // North America, a digit long
            "+10005550123",    // no area code begins with 0
            "+11235550123",    // no area code begins with 1
            "+12021550123",    // no exchange begins with 1
            "+12425550123",    // the Bahamas, no such exchange
            "+55119876543210", // Brazil, a digit long
            "+5511587654321",  // Brazil, nine digits that do not begin with 9
            "+4407911123456",  // the United Kingdom's trunk prefix, which E.164 does not allow
            "+4900151123456",  // Germany's trunk prefix
            "+8610123456780",  // Beijing, a digit long, though other Chinese numbers have this length
            "+99912345678",    // an unassigned country calling code
            "+21012345678",    // another unassigned one
            "+2999999999",     // Greenland, a digit long
            "+12345678",       // too short for North America
            "+999999999999999",
        ] {
            assert!(!valid(number), "{number}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        let plans = || PLANS.iter().flat_map(|(_, plans)| plans.iter());
        let kinds = plans().flat_map(|plan| plan.given_out.iter().chain([&plan.all]));
        for Kind { pattern, .. } in kinds {
            assert!(Regex::new(&format!("^(?:{pattern})$")).is_ok(), "{pattern}");
        }
        assert!(plans().count() > 240, "{}", plans().count());
    }

    #[test]
    fn no_calling_code_is_the_beginning_of_another() {
        for (code, _) in PLANS {
            assert_eq!(PLANS.iter().filter(|(other, _)| code.starts_with(other)).count(), 1, "{code}");
        }
    }

    #[test]
    fn the_example_of_every_plan_is_valid() {
        let mut checked = 0;
        for number in EXAMPLES.lines() {
            // Some islands have fixed lines with fewer digits than `Cellphone` accepts.
            if let Ok(phone) = Cellphone::parse(number) {
                assert!(is_valid(&phone), "{number}");
                checked += 1;
            }
        }
        assert!(checked > 900, "{checked}");
    }

    #[test]
    fn the_examples_of_an_older_source_are_valid_if_their_range_still_is() {
        let mut checked = 0;
        for plan in DATABASE.iter() {
            for kind in [plan.descriptors().mobile(), plan.descriptors().fixed_line()].into_iter().flatten() {
                let number = format!("+{}{}", plan.country_code(), kind.example().unwrap());
                // The newer plan of Zimbabwe has no such numbers any more.
                let is_given_up = number == "+2631312345";
                if let Ok(phone) = Cellphone::parse(&number) {
                    assert_eq!(is_valid(&phone), !is_given_up, "{} {number}", plan.id());
                    checked += 1;
                }
            }
        }
        assert!(checked > 450, "{checked}");
    }
}
