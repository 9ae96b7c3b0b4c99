//! Makes JSON readable that Rust's strings and numbers cannot hold, so that one odd text does not take a whole webhook with it.
//!
//! A customer decides what a name or a text holds, and the provider passes it on together with what others wrote. Valid JSON can
//! hold half of a surrogate pair, a number beyond every float, and any depth. A reader of the whole refuses it because of
//! one of them.

/// The greatest depth that is kept. The provider's own webhooks need about ten.
const MAX_DEPTH: usize = 60;

/// The same JSON with U+FFFD for each half of a surrogate pair, a text for each number that is too large, an escape for each control
/// character in a text, and null for what is nested too deep. Other faults stay.
pub(super) fn repaired(json: &str) -> String {
    let mut repair = Repair { rest: json, out: String::with_capacity(json.len()), depth: 0 };
    while let Some(first) = repair.rest.chars().next() {
        match first {
            '"' => repair.string(),
            '-' | '0'..='9' => repair.number(),
            '[' | '{' => repair.open(first),
            ']' | '}' => repair.close(first),
            _ => repair.keep(first.len_utf8()),
        }
    }
    repair.out
}

struct Repair<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
}

impl Repair<'_> {
    /// Copies so many bytes, or drops them below the greatest depth.
    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes);
        self.put(kept);
        self.rest = rest;
    }

    fn put(&mut self, text: &str) {
        if self.depth <= MAX_DEPTH {
            self.out.push_str(text);
        }
    }

    fn open(&mut self, bracket: char) {
        if self.depth == MAX_DEPTH {
            self.put("null");
        }
        self.depth += 1;
        self.keep(bracket.len_utf8());
    }

    fn close(&mut self, bracket: char) {
        self.keep(bracket.len_utf8());
        self.depth = self.depth.saturating_sub(1);
    }

    fn number(&mut self) {
        let is_part = |character: char| matches!(character, '-' | '+' | '.' | 'e' | 'E' | '0'..='9');
        let end = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let is_too_large = self.rest[..end].parse::<f64>().is_ok_and(f64::is_infinite);
        if !is_too_large {
            return self.keep(end);
        }
        self.put("\"");
        self.keep(end);
        self.put("\"");
    }

    fn string(&mut self) {
        self.keep(1);
        while let Some(first) = self.rest.chars().next() {
            match first {
                '"' => return self.keep(1),
                '\\' => self.escape(),
                control if control < ' ' => {
                    self.put(&format!("\\u{:04x}", u32::from(control)));
                    self.rest = &self.rest[1..];
                }
                _ => {
                    let end = self.rest.find(|next: char| matches!(next, '"' | '\\' | '\0'..' '));
                    self.keep(end.unwrap_or(self.rest.len()));
                }
            }
        }
    }

    fn escape(&mut self) {
        match (unit(self.rest), unit(self.rest.get(6..).unwrap_or_default())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => self.keep(12),
            (Some(0xd800..=0xdfff), _) => {
                self.put("\\ufffd");
                self.rest = &self.rest[6..];
            }
            // The backslash and what it escapes.
            _ => {
                let escaped = self.rest.chars().nth(1).map_or(0, char::len_utf8);
                self.keep(1 + escaped);
            }
        }
    }
}

/// The UTF-16 unit of an escape (`\uD83D`) with which a text begins.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(json: &str) -> Value {
        serde_json::from_str(&repaired(json)).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    #[test]
    fn what_cannot_be_read_is_replaced_and_the_rest_stays() {
        for (json, expected) in [
            (r#""a\ud83d""#, json!("a\u{fffd}")),
            (r#""\udc00\ud83d\ude00\ud83d!""#, json!("\u{fffd}😀\u{fffd}!")),
            (r#""\ud83d\ud83d\ude00""#, json!("\u{fffd}😀")),
            (r#""\\ud83d \" \\\ud800""#, json!("\\ud83d \" \\\u{fffd}")),
            ("\"\\uDFFF\u{1}\n\"", json!("\u{fffd}\u{1}\n")),
            (
                "[1e999, -1e999, 1e-999, 12345678901234567890123, 1.5]",
                json!(["1e999", "-1e999", 0.0, 12345678901234567890123_f64, 1.5]),
            ),
            (r#"{"\ud800": 1, "b": [true, null, "x"]}"#, json!({ "\u{fffd}": 1, "b": [true, null, "x"] })),
        ] {
            assert_eq!(read(json), expected, "{json}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_becomes_null() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("[{}1{}, \"after\"]", open.repeat(100_000), close.repeat(100_000));
            let value = read(&deep);
            assert_eq!(value[1], "after");
            assert!(serde_json::to_string(&value).unwrap().contains("null"));
        }
    }

    #[test]
    fn cut_and_broken_json_stays_broken() {
        for json in [
            "",
            "{",
            "\"",
            "\"\\",
            "\"\\u",
            "\"\\ud8",
            "\"\\ud800",
            "[1,",
            "nul",
            "{]",
            "]]]]",
            "-",
            "\"\\ué\"",
        ] {
            assert!(serde_json::from_str::<Value>(&repaired(json)).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn readable_json_stays_the_same(text in ".*", number in any::<f64>(), whole in any::<i64>()) {
            let json = json!({ text.clone(): [text, number, whole, { "a": [] }] }).to_string();
            prop_assert_eq!(repaired(&json), json);
        }

        #[test]
        fn no_text_panics(text in r#"["\\u{}\[\]\-eE0-9d89abfABDF,: \x00-\x1fé😀]{0,60}"#) {
            let _ = repaired(&text);
        }
    }
}
