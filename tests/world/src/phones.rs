//! Numbers with two written forms: WhatsApp names a customer by one, and tenants and visitors write the other.

/// A phone. Both forms are digits without `+`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phone {
    /// As WhatsApp writes it.
    pub provider: String,
    /// As tenants and visitors write it.
    pub dialled: String,
}

/// Mexico, Argentina, Brazil and Benin: the two forms of the digits before the subscriber's, and those up to the last two.
const COUNTRIES: [[&str; 3]; 4] = [
    ["521", "52", "55512340"],
    ["549", "54", "11512340"],
    ["5511", "55119", "812340"],
    ["229", "22901", "971234"],
];

impl Phone {
    /// One of a hundred phones of a country.
    pub fn of(country: u64, number: u64) -> Self {
        let at = usize::try_from(country).unwrap_or_default() % COUNTRIES.len();
        let [provider, dialled, subscriber] = COUNTRIES[at];
        let form = |prefix: &str| format!("{prefix}{subscriber}{:02}", number % 100);
        Self { provider: form(provider), dialled: form(dialled) }
    }

    /// Whether this is one of its forms, with `+` or without.
    pub fn is(&self, number: &str) -> bool {
        let digits = number.trim_start_matches('+');
        [&self.provider, &self.dialled].contains(&&digits.to_owned())
    }

    /// Both forms, as tenants write them.
    pub fn forms(&self) -> [String; 2] {
        [&self.dialled, &self.provider].map(|digits| format!("+{digits}"))
    }

    /// Whether the number is a form of any of these phones.
    pub fn is_known(number: &str) -> bool {
        Self::found(number).is_some()
    }

    /// The phone that has this form.
    fn found(number: &str) -> Option<Self> {
        let digits = number.trim_start_matches('+');
        (0..4)
            .flat_map(|country| (0..100).map(move |at| Self::of(country, at)))
            .find(|phone| phone.is(digits))
    }
}

/// The same text for all forms of a number. The world has a table of its own: it does not ask the service.
pub fn canonical(number: &str) -> String {
    let digits = number.trim_start_matches('+');
    Phone::found(digits).map_or_else(|| digits.to_owned(), |phone| phone.provider)
}
