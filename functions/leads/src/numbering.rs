//! Whether a phone number is one that its country's numbering plan can have given out.

use domain::Cellphone;
use regex::RegexBuilder;

/// The plans of the world by country calling code, as of the version of the crate `phonenumber` that `Cargo.lock` names.
const PLANS: &[(&str, &[Plan])] = include!(concat!(env!("OUT_DIR"), "/plans.rs"));

/// How one of the countries that share a calling code numbers.
struct Plan {
    /// What every number has in common: asked first, so that of 25 plans behind one code only few are asked further.
    all: Kind,
    /// Mobiles, fixed lines and services of all sorts.
    given_out: &'static [Kind],
}

/// Numbers of a kind, without their calling code.
struct Kind {
    /// How many digits they have; any if there are none.
    lengths: &'static [usize],
    /// A regular expression for the whole number.
    pattern: &'static str,
}

/// Whether the plan behind the number's country calling code knows numbers like this: fixed lines and services as well
/// as mobiles, as many plans cannot tell them apart.
///
/// A number in E.164 holds neither a trunk prefix nor anything to be guessed: the plans are asked as they stand.
pub fn is_valid(phone: &Cellphone) -> bool {
    // No calling code begins with another.
    PLANS
        .iter()
        .find_map(|(code, plans)| Some((plans, phone.digits().strip_prefix(code)?)))
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
        // Without the digits of other scripts, which no number here has and which are dear to prepare.
        let pattern = RegexBuilder::new(&format!("^(?:{})$", self.pattern)).unicode(false).build();
        pattern.is_ok_and(|pattern| pattern.is_match(national))
    }
}

#[cfg(test)]
mod tests {
    use phonenumber::metadata::DATABASE;

    use super::*;

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
            "+491701234567",  // Germany, one digit less
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
        ] {
            assert!(valid(number), "{number}");
        }
    }

    #[test]
    fn fixed_lines_and_services_are_valid_too() {
        for number in [
            "+34910112233",  // Madrid
            "+390236618300", // Milan, whose zero belongs to the number
            "+551123456789", // São Paulo, eight digits
            "+541123456789", // Buenos Aires, without the mobiles' 9
            "+442071234567", // London
            "+493012345678", // Berlin
            "+911123456789", // Delhi
            "+78001234567",  // Russia's toll-free 8-800
            "+37080012345",  // Lithuania's, whose trunk prefix is an 8 as well
            "+80012345678",  // toll-free everywhere
            "+34806123456",  // a premium rate
        ] {
            assert!(valid(number), "{number}");
        }
    }

    #[test]
    fn what_no_plan_can_have_given_out_is_not_valid() {
        for number in [
            "+3460011122",     // Spain, a digit short
            "+346001112223",   // Spain, a digit long
            "+34100111222",    // Spain, no such range
            "+1202555012",     // North America, a digit short
            "+120255501234",   // North America, a digit long
            "+10005550123",    // no area code begins with 0
            "+11235550123",    // nor with 1
            "+12021550123",    // no exchange begins with 1
            "+12425550123",    // the Bahamas, no such exchange
            "+55119876543210", // Brazil, a digit long
            "+5511587654321",  // Brazil, nine digits that do not begin with 9
            "+4407911123456",  // the United Kingdom's trunk prefix, which does not belong there
            "+4900151123456",  // Germany's
            "+8610123456780",  // Beijing, a digit long: of the right length for others in China
            "+99912345678",    // nobody's country calling code
            "+21012345678",    // nor this
            "+2999999999",     // Greenland, a digit long
            "+12345678",       // too short for North America
            "+999999999999999",
        ] {
            assert!(!valid(number), "{number}");
        }
    }

    #[test]
    fn every_pattern_can_be_used() {
        let plans = || PLANS.iter().flat_map(|(_, plans)| plans.iter());
        let kinds = plans().flat_map(|plan| plan.given_out.iter().chain([&plan.all]));
        for Kind { pattern, .. } in kinds {
            assert!(
                RegexBuilder::new(&format!("^(?:{pattern})$")).unicode(false).build().is_ok(),
                "{pattern}"
            );
        }
        assert!(plans().count() > 240, "{}", plans().count());
    }

    #[test]
    fn no_calling_code_begins_with_another() {
        for (code, _) in PLANS {
            assert_eq!(PLANS.iter().filter(|(other, _)| code.starts_with(other)).count(), 1, "{code}");
        }
    }

    #[test]
    fn the_example_of_every_plan_is_valid() {
        let mut checked = 0;
        for plan in DATABASE.iter() {
            for kind in [plan.descriptors().mobile(), plan.descriptors().fixed_line()].into_iter().flatten() {
                let number = format!("+{}{}", plan.country_code(), kind.example().unwrap());
                // Some islands number their fixed lines with fewer digits than a cellphone here may have.
                if let Ok(phone) = Cellphone::parse(&number) {
                    assert!(is_valid(&phone), "{} {number}", plan.id());
                    checked += 1;
                }
            }
        }
        assert!(checked > 450, "{checked}");
    }
}
