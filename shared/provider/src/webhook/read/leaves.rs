//! An item whose leaves are taken one by one. What is left at the end is what the service does not know, and is kept raw.

use domain::message::received::{Raw, ReceivedText};
use serde_json::Value;

use super::values::text;
use crate::webhook::pieces::MAX_ID;

/// Leaves of a customer's message that are neither mapped nor kept, and why.
pub(crate) const IGNORED: &[(&[&str], &str)] = &[
    (&["context", "from"], "the workspace's own number"),
    (&["image", "url"], "it is valid for minutes only, and the file is fetched by its id"),
    (&["video", "url"], "the same"),
    (&["audio", "url"], "the same"),
    (&["voice", "url"], "the same"),
    (&["document", "url"], "the same"),
    (&["sticker", "url"], "the same"),
];

/// The rest of an item.
pub(crate) struct Leaves(Value);

impl Leaves {
    pub(crate) fn of(item: &Value) -> Self {
        Self(item.clone())
    }

    /// The value at a path, which stays.
    pub(crate) fn at(&self, path: &[&str]) -> &Value {
        path.iter().fold(&self.0, |value, step| match value {
            Value::Array(items) => {
                step.parse().ok().and_then(|at: usize| items.get(at)).unwrap_or(&Value::Null)
            }
            _ => &value[*step],
        })
    }

    /// Removes the value at a path.
    pub(crate) fn take(&mut self, path: &[&str]) {
        let Some((last, before)) = path.split_last() else { return };
        let parent = before.iter().try_fold(&mut self.0, |value, step| match value {
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            Value::Object(fields) => fields.get_mut(*step),
            _ => None,
        });
        if let Some(Value::Object(fields)) = parent {
            fields.remove(*last);
        }
    }

    /// Takes a text or number as text.
    pub(crate) fn text(&mut self, path: &[&str]) -> Option<String> {
        let text = text(self.at(path))?;
        self.take(path);
        Some(text)
    }

    /// Takes a text, cut to a number of characters. One that is cut also stays as it is.
    pub(crate) fn cut(&mut self, path: &[&str], most: usize) -> Option<ReceivedText> {
        let text = text(self.at(path))?;
        let cut = ReceivedText::cut(&text, most);
        // A text without its control characters is whole.
        if ReceivedText::cut(&text, usize::MAX) == cut {
            self.take(path);
        }
        (!cut.as_str().is_empty()).then_some(cut)
    }

    /// Takes an id that fits a key.
    pub(crate) fn id(&mut self, path: &[&str]) -> Option<String> {
        (text(self.at(path))?.len() <= MAX_ID).then(|| self.text(path)).flatten()
    }

    pub(crate) fn flag(&mut self, path: &[&str]) -> Option<bool> {
        let flag = self.at(path).as_bool()?;
        self.take(path);
        Some(flag)
    }

    /// The number of items of a list.
    pub(crate) fn count(&self, path: &[&str]) -> usize {
        self.at(path).as_array().map_or(0, Vec::len)
    }

    /// What nobody took, without what says nothing.
    pub(crate) fn rest(mut self) -> Option<Raw> {
        for (path, _) in IGNORED {
            self.take(path);
        }
        is_kept(&mut self.0).then(|| Raw::of(&self.0.to_string()))
    }
}

/// Removes what is empty. Whether anything is left.
fn is_kept(value: &mut Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => {
            items.retain_mut(is_kept);
            !items.is_empty()
        }
        Value::Object(fields) => {
            fields.retain(|_, value| is_kept(value));
            !fields.is_empty()
        }
        Value::Bool(_) | Value::Number(_) => true,
    }
}
