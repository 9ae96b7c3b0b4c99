//! `console portal ...`

use clap::Subcommand;
use domain::SelfService;

use crate::arguments::InWorkspace;
use crate::output::{Output, Report};
use crate::workspace::{change, view};
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Let the tenant manage the workspace by the API: with keys that have the scopes `keys:read`, `keys:write` and `audit:read`.
    ///
    /// It is on in a new workspace. Functions that have the workspace in memory accept these scopes within 30 seconds.
    On(InWorkspace),
    /// Keep the management of the workspace to operators. These scopes get 403; keys keep their other scopes.
    ///
    /// Functions that have the workspace in memory refuse these scopes within 30 seconds.
    Off(InWorkspace),
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let (within, wanted) = match self {
            Self::On(within) => (within, SelfService::On),
            Self::Off(within) => (within, SelfService::Off),
        };
        let changed =
            change(console, &within, "selfService", |workspace| Ok(workspace.with_self_service(wanted)));
        Ok(view(&changed.await?).into())
    }
}
