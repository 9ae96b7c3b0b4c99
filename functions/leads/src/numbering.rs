//! Whether a phone number is one that its country's numbering plan can have given out.

use domain::Cellphone;
use phonenumber::metadata::{DATABASE, Descriptor, Metadata};
use regex::{Regex, RegexBuilder};

/// Whether the plan behind the number's country calling code knows numbers like this: fixed lines and services as well
/// as mobiles, as many plans cannot tell them apart.
///
/// The first call reads the plans of the world, which takes milliseconds and is remembered; it must not happen when the
/// process starts.
//
// The number is in E.164 already, so the plans are asked directly: the crate's parser would take the first digits of
// some for a trunk prefix (the 8 of Russia's 800), and a trunk prefix that does not belong there for none.
pub fn is_valid(phone: &Cellphone) -> bool {
    let digits = phone.digits();
    // No calling code begins with another.
    (1..=3).filter_map(|length| digits.split_at_checked(length)).any(|(code, national)| {
        let plans = code.parse::<u16>().ok().and_then(|code| DATABASE.by_code(&code));
        plans.into_iter().flatten().any(|plan| knows(plan, national))
    })
}

fn knows(plan: &Metadata, national: &str) -> bool {
    let kinds = plan.descriptors();
    let given_out = [
        kinds.mobile(),
        kinds.fixed_line(),
        kinds.toll_free(),
        kinds.premium_rate(),
        kinds.shared_cost(),
        kinds.personal_number(),
        kinds.voip(),
        kinds.pager(),
        kinds.uan(),
        kinds.voicemail(),
    ];
    fits(kinds.general(), national) && given_out.into_iter().flatten().any(|kind| fits(kind, national))
}

/// Whether the whole number is as described. The crate itself is content with a fitting beginning.
fn fits(kind: &Descriptor, national: &str) -> bool {
    kind.is_match(national) && whole(kind).is_ok_and(|pattern| pattern.is_match(national))
}

fn whole(kind: &Descriptor) -> Result<Regex, regex::Error> {
    let pattern = format!("^(?:{})$", kind.national_number().as_str());
    // Digits of other scripts, which no number here has, would make it ten times as dear to prepare.
    RegexBuilder::new(&pattern).ignore_whitespace(true).unicode(false).build()
}

#[cfg(test)]
mod tests {
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
