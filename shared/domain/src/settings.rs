//! The settings of a workspace that operators manage: the workspace and its teams, users, lines and brands,
//! templates, onboarding.

pub mod line;
pub mod names;
pub mod onboarding;
pub mod reported;
pub mod template;
pub mod user;
pub mod workspace;
