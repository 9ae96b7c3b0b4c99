//! What commands that delete a setting print.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::output::Shown;

/// A deleted setting. In JSON, its id has the same field as in the setting's other commands.
pub(crate) struct Deleted {
    /// The field with the id, such as `brandId`.
    pub(crate) field: &'static str,
    /// The id.
    pub(crate) id: String,
}

impl Serialize for Deleted {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry(self.field, &self.id)?;
        map.serialize_entry("deleted", &true)?;
        map.end()
    }
}

impl Shown for Deleted {
    const HEADINGS: &'static [&'static str] = &["deleted"];

    fn cells(&self) -> Vec<String> {
        vec![self.id.clone()]
    }
}
