//! What operators set up for a workspace: the workspace itself and its teams, users, lines and brands, templates,
//! onboarding.

pub mod line;
pub mod onboarding;
pub mod template;
pub mod user;
pub mod workspace;
