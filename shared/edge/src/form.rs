//! Parsing of bodies, queries and path ids. It collects all failures, so the client gets them in one
//! response.
//!
//! A [`Form`] collects failures. A [`Node`] is a location in the input, which may be empty. Parsers return
//! the values that they could read and record the other ones as failures. [`Form::finish`] turns any failures
//! into one 422.

use std::ops::RangeInclusive;

use domain::{Patch, Timestamp, Unfit};
use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::failure::FieldFailure;

/// A moment in a query or a body.
pub fn moment(text: &str) -> Result<Timestamp, Unfit> {
    let reason = "not a date-time with an offset, such as 2026-01-31T12:00:00Z";
    Timestamp::parse(text).ok_or(Unfit::Value { reason })
}

/// The failures of one request.
#[derive(Debug, Default)]
pub struct Form {
    failures: Vec<FieldFailure>,
    /// The number of failures that are [`Rejection::Mismatch`].
    mismatches: usize,
}

impl Form {
    /// Records a failure at a location.
    pub fn fail(&mut self, at: &Node<'_>, fault: Rejection) {
        self.mismatches += usize::from(matches!(fault, Rejection::Mismatch { .. }));
        let (kind, msg, ctx) = fault.said();
        let ctx = match ctx {
            Value::Object(ctx) => ctx,
            _ => Map::new(),
        };
        let input = at.value.map_or(Value::Null, echoed);
        self.failures.push(FieldFailure { loc: at.loc.clone(), msg, kind, input, ctx });
    }

    /// The parsed value, or all failures as one error. The parsers of this module never return `None` without
    /// a failure; such a result is an internal error.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, ApiError> {
        match read {
            Some(read) if self.failures.is_empty() => Ok(read),
            _ if self.failures.is_empty() => {
                Err(ApiError::unexpected("a reader returned no value and no failure"))
            }
            _ if self.mismatches == self.failures.len() => Err(ApiError::FilesUnfit(self.failures)),
            _ => Err(ApiError::Invalid(self.failures)),
        }
    }
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    /// A required field is absent.
    Missing,
    /// The value is not a string.
    NotText,
    /// The value is not an object.
    NotObject,
    /// The value is not an array.
    NotList,
    /// The array has fewer items than this minimum.
    TooFewItems(usize),
    /// The array or object has more items than this maximum.
    TooManyItems(usize),
    /// The value is not a whole number.
    NotInteger,
    /// The value is not a number.
    NotNumber,
    /// The number is below this minimum.
    Below(i64),
    /// The number is above this maximum.
    Above(i64),
    /// The value is neither `true` nor `false`.
    NotBool,
    /// The endpoint has no query parameter or field of this name.
    Unknown {
        /// `query parameter` or `field`.
        what: &'static str,
        /// The names that it has.
        allowed: &'static [&'static str],
    },
    /// The text is invalid for its field.
    Unfit(Unfit),
    /// The value is refused for this reason.
    Refused(&'static str),
    /// The value does not match the other values of a file.
    Mismatch {
        /// The reason.
        reason: &'static str,
        /// The values that would match.
        expected: Vec<&'static str>,
    },
}

impl Rejection {
    /// The `type`, the `msg` and the `ctx` of the failure.
    fn said(&self) -> (&'static str, String, Value) {
        match self {
            Self::Missing => ("missing", "Field required".into(), json!({})),
            Self::NotText => ("string_type", "Input should be a string".into(), json!({})),
            Self::NotObject => ("dict_type", "Input should be an object".into(), json!({})),
            Self::NotList => ("list_type", "Input should be an array".into(), json!({})),
            Self::TooFewItems(min) => (
                "too_short",
                format!("The array should have at least {min} items"),
                json!({"min_length": min}),
            ),
            Self::TooManyItems(max) => {
                ("too_long", format!("The array should have at most {max} items"), json!({"max_length": max}))
            }
            Self::NotInteger => ("int_parsing", "Input should be a whole number".into(), json!({})),
            Self::NotNumber => ("float_parsing", "Input should be a number".into(), json!({})),
            Self::Below(ge) => {
                ("greater_than_equal", format!("Input should be at least {ge}"), json!({"ge": ge}))
            }
            Self::Above(le) => {
                ("less_than_equal", format!("Input should be at most {le}"), json!({"le": le}))
            }
            Self::NotBool => ("bool_parsing", "Input should be true or false".into(), json!({})),
            Self::Unknown { what, allowed } => {
                ("extra_forbidden", format!("Unknown {what}"), json!({"allowed": allowed}))
            }
            Self::Refused(reason) => value_error(reason),
            Self::Mismatch { reason, expected } => (
                "value_error",
                format!("Value error: {reason}; expected {}", expected.join(", ")),
                json!({"error": reason, "expected": expected}),
            ),
            Self::Unfit(unfit) => match unfit {
                Unfit::TooShort { min } => (
                    "string_too_short",
                    format!("The text should have at least {min} characters"),
                    json!({"min_length": min}),
                ),
                Unfit::TooLong { max } => (
                    "string_too_long",
                    format!("The text should have at most {max} characters"),
                    json!({"max_length": max}),
                ),
                Unfit::Shape { pattern, form } => (
                    "string_pattern_mismatch",
                    format!("The text should be {form}"),
                    json!({"pattern": pattern}),
                ),
                Unfit::NotOneOf { expected } => (
                    "enum",
                    format!("Input should be one of {}", expected.join(", ")),
                    json!({"expected": expected}),
                ),
                Unfit::NotAUuid => ("uuid_parsing", "Input should be a UUID".into(), json!({})),
                Unfit::Value { reason } => value_error(reason),
            },
        }
    }
}

fn value_error(reason: &str) -> (&'static str, String, Value) {
    ("value_error", format!("Value error: {reason}"), json!({"error": reason}))
}

fn check_control_characters(text: &str) -> Result<(), Rejection> {
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(Rejection::Refused("control characters other than newline and tab are not allowed"));
    }
    Ok(())
}

/// The greatest number of characters of a value that `input` repeats.
const ECHO: usize = 256;

fn echoed(value: &Value) -> Value {
    let cut = |text: &str| Value::String(text.chars().take(ECHO).collect());
    match value {
        Value::String(text) => cut(text),
        Value::Array(_) | Value::Object(_) => {
            let printed = value.to_string();
            if printed.chars().count() <= ECHO { value.clone() } else { cut(&printed) }
        }
        _ => value.clone(),
    }
}

/// A location in the input, which may be empty.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    loc: Vec<String>,
    value: Option<&'a Value>,
}

impl<'a> Node<'a> {
    /// The root of one part of the request: `body`, `query`, `path` or `header`.
    pub fn root(part: &'static str, value: Option<&'a Value>) -> Self {
        Self { loc: vec![part.to_owned()], value }
    }

    /// The field with this name. It is empty if this value is not an object or lacks the field.
    pub fn field(&self, name: &str) -> Self {
        self.child(name.to_owned(), self.value.and_then(|value| value.get(name)))
    }

    /// The patch from the field with this name. `read` parses the field if it has a value.
    pub fn patch<T>(
        &self,
        form: &mut Form,
        name: &str,
        read: impl FnOnce(&mut Form, &Self) -> Option<T>,
    ) -> Patch<T> {
        let field = self.field(name);
        match field.value {
            None => Patch::Keep,
            Some(Value::Null) => Patch::Clear,
            Some(_) => read(form, &field).map_or(Patch::Keep, Patch::Set),
        }
    }

    /// Whether the field is absent.
    pub fn is_absent(&self) -> bool {
        self.value.is_none()
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Some(Value::Null))
    }

    /// Whether the value is an empty array.
    pub fn is_empty_list(&self) -> bool {
        matches!(self.value, Some(Value::Array(items)) if items.is_empty())
    }

    /// This node. If it is absent, that is recorded as a failure.
    pub fn required(self, form: &mut Form) -> Option<Self> {
        if self.is_absent() {
            form.fail(&self, Rejection::Missing);
            return None;
        }
        Some(self)
    }

    /// This node if it has a value other than `null`: for optional fields.
    pub fn given(self) -> Option<Self> {
        Some(self).filter(|at| !at.is_absent() && !at.is_null())
    }

    /// This node if its value is an object. Otherwise records a failure.
    pub fn object(self, form: &mut Form) -> Option<Self> {
        match self.value {
            Some(Value::Object(_)) => Some(self),
            _ => {
                form.fail(&self, Rejection::NotObject);
                None
            }
        }
    }

    /// This object. Each field that is not in `allowed` is recorded as a failure. For requests in which a misspelt field would
    /// do what nobody can undo.
    pub fn only(self, form: &mut Form, allowed: &'static [&'static str]) -> Self {
        for (name, value) in self.value.and_then(Value::as_object).into_iter().flatten() {
            if !allowed.contains(&name.as_str()) {
                form.fail(
                    &self.child(name.clone(), Some(value)),
                    Rejection::Unknown { what: "field", allowed },
                );
            }
        }
        self
    }

    /// The items of an array with `min..=max` items. If the value is not an array or has too many items, the
    /// result is empty and a failure is recorded.
    pub fn items(&self, form: &mut Form, min: usize, max: usize) -> Vec<Self> {
        let Some(Value::Array(items)) = self.value else {
            form.fail(self, Rejection::NotList);
            return vec![];
        };
        if items.len() < min {
            form.fail(self, Rejection::TooFewItems(min));
        }
        if items.len() > max {
            form.fail(self, Rejection::TooManyItems(max));
            return vec![];
        }
        items.iter().enumerate().map(|(index, item)| self.child(index.to_string(), Some(item))).collect()
    }

    /// The fields of an object with at most `max` fields, by name. If the value is not such an object, the
    /// result is empty and a failure is recorded. The names come from the sender, so the same control
    /// characters are refused as in other texts.
    pub fn entries(&self, form: &mut Form, max: usize) -> Vec<(&'a str, Self)> {
        let Some(Value::Object(fields)) = self.value else {
            form.fail(self, Rejection::NotObject);
            return vec![];
        };
        if fields.len() > max {
            form.fail(self, Rejection::TooManyItems(max));
            return vec![];
        }
        let mut entries = vec![];
        for (name, value) in fields {
            let field = self.child(name.clone(), Some(value));
            match check_control_characters(name) {
                Ok(()) => entries.push((name.as_str(), field)),
                Err(fault) => form.fail(&field, fault),
            }
        }
        entries
    }

    /// A string, parsed by a rule of the domain. Control characters other than newline and tab are refused in
    /// every field.
    pub fn text<T>(&self, form: &mut Form, parse: impl FnOnce(&str) -> Result<T, Unfit>) -> Option<T> {
        let Some(Value::String(text)) = self.value else {
            form.fail(self, Rejection::NotText);
            return None;
        };
        let read = check_control_characters(text).and_then(|()| parse(text).map_err(Rejection::Unfit));
        read.map_err(|fault| form.fail(self, fault)).ok()
    }

    /// A string like [`Node::text`], whose failure does not repeat the value.
    pub fn secret<T>(&self, form: &mut Form, parse: impl FnOnce(&str) -> Result<T, Unfit>) -> Option<T> {
        let mut scratch = Form::default();
        let read = self.text(&mut scratch, parse);
        form.failures.extend(
            scratch.failures.into_iter().map(|failure| FieldFailure { input: Value::Null, ..failure }),
        );
        read
    }

    /// A number, parsed by a rule of the domain from its shortest decimal form.
    pub fn decimal<T>(&self, form: &mut Form, parse: impl FnOnce(&str) -> Result<T, Unfit>) -> Option<T> {
        let Some(number) = self.value.and_then(Value::as_f64) else {
            form.fail(self, Rejection::NotNumber);
            return None;
        };
        parse(&number.to_string()).map_err(|unfit| form.fail(self, Rejection::Unfit(unfit))).ok()
    }

    /// A boolean. Otherwise records a failure.
    pub fn boolean(&self, form: &mut Form) -> Option<bool> {
        let read = self.value.and_then(Value::as_bool);
        if read.is_none() {
            form.fail(self, Rejection::NotBool);
        }
        read
    }

    /// [`Node::integer`] as the type of the bounds.
    pub fn number<T: TryFrom<i64> + Into<i64>>(&self, form: &mut Form, least: T, greatest: T) -> Option<T> {
        self.integer(form, least.into(), greatest.into()).and_then(|number| T::try_from(number).ok())
    }

    /// A whole number within `least..=greatest` in any JSON form: `1.0` and `1e0` are 1.
    pub fn integer(&self, form: &mut Form, least: i64, greatest: i64) -> Option<i64> {
        // The cast of a larger number gives the nearest integer, which is also out of bounds.
        let whole = |number: f64| (number.fract() == 0.0).then_some(number as i64);
        let sent = self.value.and_then(|value| value.as_i64().or_else(|| value.as_f64().and_then(whole)));
        let fault = match sent {
            Some(number) if number < least => Rejection::Below(least),
            Some(number) if number > greatest => Rejection::Above(greatest),
            Some(number) => return Some(number),
            None => Rejection::NotInteger,
        };
        form.fail(self, fault);
        None
    }

    fn child(&self, name: String, value: Option<&'a Value>) -> Self {
        let mut loc = self.loc.clone();
        loc.push(name);
        Self { loc, value }
    }
}

const PAGE_SIZE: RangeInclusive<i64> = 1..=100;
const DEFAULT_PAGE_SIZE: usize = 20;

/// The query of a request: decoded pairs, sorted by name, because the gateway's event does not keep their
/// order.
#[derive(Clone, Debug, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
    /// The same parameters as an object. If a name is repeated, the first value wins.
    object: Value,
}

impl Query {
    /// Makes a query from decoded pairs.
    pub fn new(mut pairs: Vec<(String, String)>) -> Self {
        // The sort is stable, so the values of a repeated name keep their order.
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
        let first = pairs.iter().rev().map(|(name, value)| (name.clone(), Value::String(value.clone())));
        let object = Value::Object(first.collect());
        Self { pairs, object }
    }

    /// Records a failure for each parameter that is not in `allowed` and for each repeated one. Otherwise a
    /// misspelt filter would return everything.
    pub fn only(&self, form: &mut Form, allowed: &'static [&'static str]) -> &Self {
        for (index, (name, value)) in self.pairs.iter().enumerate() {
            let value = Value::String(value.clone());
            let at = Node::root("query", None).child(name.clone(), Some(&value));
            if !allowed.contains(&name.as_str()) {
                form.fail(&at, Rejection::Unknown { what: "query parameter", allowed });
            } else if self.pairs[..index].iter().any(|(earlier, _)| earlier == name) {
                form.fail(&at, Rejection::Refused("the parameter is repeated"));
            }
        }
        self
    }

    /// The decoded value of a parameter.
    pub fn sent(&self, name: &str) -> Option<&str> {
        self.object.get(name).and_then(Value::as_str)
    }

    /// The node of a parameter, which is empty if the parameter is absent.
    pub fn field(&self, name: &str) -> Node<'_> {
        Node::root("query", Some(&self.object)).field(name)
    }

    /// A parameter, parsed by a rule. An absent parameter is not a failure.
    pub fn text<T>(
        &self,
        form: &mut Form,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Unfit>,
    ) -> Option<T> {
        self.read(form, name, |form, at| at.text(form, parse))
    }

    /// A whole number within `least..=greatest`. An absent parameter is not a failure.
    pub fn integer(&self, form: &mut Form, name: &str, least: i64, greatest: i64) -> Option<i64> {
        self.read(form, name, |form, at| {
            let text = at.value.and_then(Value::as_str).unwrap_or_default();
            let fault = match text.parse::<i64>() {
                Ok(number) if number < least => Rejection::Below(least),
                Ok(number) if number > greatest => Rejection::Above(greatest),
                Ok(number) => return Some(number),
                // A number with too many digits for an `i64` is still a number, but out of range.
                Err(error) => match error.kind() {
                    std::num::IntErrorKind::PosOverflow => Rejection::Above(greatest),
                    std::num::IntErrorKind::NegOverflow => Rejection::Below(least),
                    _ => Rejection::NotInteger,
                },
            };
            form.fail(at, fault);
            None
        })
    }

    /// The `pageSize` of a list: 1 to 100, default 20.
    pub fn page_size(&self, form: &mut Form) -> usize {
        let sent = self.integer(form, "pageSize", *PAGE_SIZE.start(), *PAGE_SIZE.end());
        sent.and_then(|size| usize::try_from(size).ok()).unwrap_or(DEFAULT_PAGE_SIZE)
    }

    /// A boolean. An absent parameter is not a failure.
    pub fn boolean(&self, form: &mut Form, name: &str) -> Option<bool> {
        self.read(form, name, |form, at| match at.value.and_then(Value::as_str) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => {
                form.fail(at, Rejection::NotBool);
                None
            }
        })
    }

    fn read<T>(
        &self,
        form: &mut Form,
        name: &str,
        read: impl FnOnce(&mut Form, &Node<'_>) -> Option<T>,
    ) -> Option<T> {
        let at = self.field(name);
        if at.is_absent() { None } else { read(form, &at) }
    }
}

#[cfg(test)]
mod tests;
