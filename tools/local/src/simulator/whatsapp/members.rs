//! Checks of an object's members.

use serde_json::{Map, Value};

use super::fault::Fault;

/// Checks that a text exists and is not longer than `most`.
pub(super) fn length(kind: &str, content: &Map<String, Value>, name: &str, most: usize) -> Result<(), Fault> {
    let given = content.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let text =
        given.ok_or_else(|| Fault::MISSING.because(format!("Parameter {kind}['{name}'] is required.")))?;
    if text.chars().count() > most {
        return Err(
            Fault::INVALID.because(format!("Param {kind}['{name}'] must be at most {most} characters long."))
        );
    }
    Ok(())
}

pub(super) fn only(members: &Map<String, Value>, of: &str, known: &[&str]) -> Result<(), Fault> {
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(Fault::INVALID.because(format!("Unexpected key \"{key}\" on param \"{of}\"."))),
    }
}
