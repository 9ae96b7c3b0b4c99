//! Typed settings. A function reads all its settings at start, so a wrong setting fails the deployment and
//! not a request.

use std::fmt::Display;
use std::str::FromStr;

/// A setting is missing or cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("environment variable {name}: {reason}")]
pub struct SettingError {
    name: &'static str,
    reason: String,
}

type Read = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of this process, or a list that replaces it in tests.
pub struct Settings {
    read: Read,
}

impl Settings {
    /// The settings from the environment of the process.
    pub fn from_env() -> Self {
        Self { read: Box::new(|name| std::env::var(name).ok()) }
    }

    /// Settings from a list of names and values.
    pub fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self {
            read: Box::new(move |wanted| {
                pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
            }),
        }
    }

    /// A text. Returns an error if the variable is not set or empty.
    pub fn required(&self, name: &'static str) -> Result<String, SettingError> {
        match (self.read)(name) {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(SettingError { name, reason: "is not set".to_owned() }),
        }
    }

    /// A text; `None` if the variable is not set or empty.
    pub fn optional(&self, name: &'static str) -> Option<String> {
        (self.read)(name).filter(|value| !value.is_empty())
    }

    /// A value of another type, or its default if the variable is not set or empty.
    pub fn parsed<T>(&self, name: &'static str, default: T) -> Result<T, SettingError>
    where
        T: FromStr,
        T::Err: Display,
    {
        match self.optional(name) {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|error| SettingError { name, reason: format!("{text:?}: {error}") })
            }
        }
    }

    /// A value that the function `read` parses. `read` gets an empty text if the variable is not set.
    pub fn read_with<T, E: Display>(
        &self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, SettingError> {
        let text = self.optional(name).unwrap_or_default();
        read(&text).map_err(|error| SettingError { name, reason: format!("{text:?}: {error}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_or_empty_setting_has_its_default_and_an_error_names_a_wrong_one() {
        let settings = Settings::from_pairs(&[("A", "7"), ("B", ""), ("C", "x")]);
        assert_eq!(settings.parsed("A", 1_u32).unwrap(), 7);
        assert_eq!(settings.parsed("B", 1_u32).unwrap(), 1);
        assert_eq!(settings.parsed("D", 1_u32).unwrap(), 1);
        assert_eq!(
            settings.parsed("C", 1_u32).unwrap_err().to_string(),
            "environment variable C: \"x\": invalid digit found in string"
        );
        assert_eq!(settings.required("B").unwrap_err().to_string(), "environment variable B: is not set");
    }
}
