//! The country calling codes of phone numbers.

/// Every country calling code that ITU-T E.164 assigns, including shared and international services. No code
/// begins with another one, so each number has one reading. A test checks this.
const CALLING_CODES: &[&str] = &[
    "1", // North American Numbering Plan
    "7", // Russia, Kazakhstan
    // Africa and the Atlantic
    "20", "211", "212", "213", "216", "218", "220", "221", "222", "223", "224", "225", "226", "227", "228",
    "229", "230", "231", "232", "233", "234", "235", "236", "237", "238", "239", "240", "241", "242", "243",
    "244", "245", "246", "247", "248", "249", "250", "251", "252", "253", "254", "255", "256", "257", "258",
    "260", "261", "262", "263", "264", "265", "266", "267", "268", "269", "27", "290", "291", "297", "298",
    "299", // Europe
    "30", "31", "32", "33", "34", "350", "351", "352", "353", "354", "355", "356", "357", "358", "359", "36",
    "370", "371", "372", "373", "374", "375", "376", "377", "378", "379", "380", "381", "382", "383", "385",
    "386", "387", "389", "39", "40", "41", "420", "421", "423", "43", "44", "45", "46", "47", "48", "49",
    // The Americas outside the North American plan
    "500", "501", "502", "503", "504", "505", "506", "507", "508", "509", "51", "52", "53", "54", "55", "56",
    "57", "58", "590", "591", "592", "593", "594", "595", "596", "597", "598", "599",
    // South-East Asia and Oceania
    "60", "61", "62", "63", "64", "65", "66", "670", "672", "673", "674", "675", "676", "677", "678", "679",
    "680", "681", "682", "683", "685", "686", "687", "688", "689", "690", "691", "692",
    // East Asia and services without a country
    "800", "808", "81", "82", "84", "850", "852", "853", "855", "856", "86", "870", "878", "880", "881",
    "882", "883", "886", "888", // West, South and Central Asia
    "90", "91", "92", "93", "94", "95", "960", "961", "962", "963", "964", "965", "966", "967", "968", "970",
    "971", "972", "973", "974", "975", "976", "977", "979", "98", "992", "993", "994", "995", "996", "998",
];

/// The digits after the country calling code. `None` if the digits do not begin with an assigned code or
/// nothing follows the code.
///
/// `digits` are the digits of an E.164 number, without the `+`.
pub fn national(digits: &str) -> Option<&str> {
    CALLING_CODES.iter().find_map(|code| digits.strip_prefix(code)).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn national_removes_the_country_calling_code() {
        for (digits, rest) in [
            ("14155550123", Some("4155550123")),
            ("79161234567", Some("9161234567")),
            ("4915112345678", Some("15112345678")),
            ("34600111222", Some("600111222")),
            ("35312345678", Some("12345678")),
            ("5215512345678", Some("15512345678")),
            ("50688887777", Some("88887777")),
            ("97150123456", Some("50123456")),
            ("2100000000", None),
            ("999123456", None),
            ("49", None),
            ("", None),
        ] {
            assert_eq!(national(digits), rest, "{digits}");
        }
    }

    #[test]
    fn no_calling_code_begins_with_another() {
        for code in CALLING_CODES {
            assert!((1..=3).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_digit()), "{code}");
            let beginnings = CALLING_CODES.iter().filter(|other| code.starts_with(**other)).count();
            assert_eq!(beginnings, 1, "{code}");
        }
    }
}
