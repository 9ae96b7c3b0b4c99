//! Beyond the specification: the templates that messages can be.

mod get;
mod list;
mod preview;

pub(crate) use get::get;
pub(crate) use list::list;
pub(crate) use preview::preview;
