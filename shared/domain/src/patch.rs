//! The three things a partial update can say of a field.

/// Omitted, `null` or a value: three states that `Option<Option<T>>` would blur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// The field was not sent: it stays as it is.
    #[default]
    Keep,
    /// The field was sent as `null`: it loses its value.
    Clear,
    /// The field was sent with a value.
    Set(T),
}

impl<T: Clone> Patch<T> {
    /// What the field holds after this patch.
    pub fn applied_to(&self, current: &Option<T>) -> Option<T> {
        match self {
            Self::Keep => current.clone(),
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
    }
}

impl<T> Patch<T> {
    /// The value to be set, where there is one.
    pub fn as_set(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }
}
