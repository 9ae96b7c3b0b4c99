//! Settings that operators make: workspaces, teams and users, attributes, lines and templates.

pub(crate) mod attributes;
pub(crate) mod created;
pub(crate) mod form_field;
mod inbound_lines;
mod keywords;
pub(crate) mod lines;
pub(crate) mod provider_apps;
pub(crate) mod remembered;
pub(crate) mod reported;
pub(crate) mod teams;
mod template_list;
pub(crate) mod templates;
pub(crate) mod users;
pub(crate) mod workspaces;
