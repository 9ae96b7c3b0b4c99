//! A partial update of one field.

/// An absent field, `null` or a value: three states that are easier to read than `Option<Option<T>>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// The field is absent. Its value stays.
    #[default]
    Keep,
    /// The field is `null`. Its value is removed.
    Clear,
    /// The field has a new value.
    Set(T),
}

impl<T: Clone> Patch<T> {
    /// The value of the field after this patch.
    pub fn applied_to(&self, current: &Option<T>) -> Option<T> {
        match self {
            Self::Keep => current.clone(),
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
    }
}

impl<T> Patch<T> {
    /// The new value, if there is one.
    pub fn as_set(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_keeps_removes_or_sets_a_value() {
        let rows = [
            // The patch, the value after it, and the value that it sets.
            (Patch::Keep, Some(1), None),
            (Patch::Clear, None, None),
            (Patch::Set(2), Some(2), Some(&2)),
        ];
        for (patch, after, set) in &rows {
            assert_eq!((patch.applied_to(&Some(1)), patch.as_set()), (*after, *set), "{patch:?}");
        }
    }
}
