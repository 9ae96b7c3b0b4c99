//! The changes of settings by operators, as the checks at the end count them.

/// A setting that operators change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edit {
    Workspace,
    Brand,
    NewBrand,
    Endpoint,
}

/// How many changes of a setting were accepted, and of how many the outcome is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edits {
    pub(crate) accepted: usize,
    pub(crate) unknown: usize,
}
