//! The console: the stack on which the verbs act.

use std::sync::Arc;
use std::time::Duration;

use admin::{Admin, Check, Gate};
use domain::secret::{self, Randomness};
use domain::text::same_name;
use domain::{TrustedReceivers, Workspace, WorkspaceId};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use store::Store;

use crate::arguments::{InWorkspace, WorkspaceRef};
use crate::beside::Beside;
use crate::refusal::Named;
use crate::{Refusal, Result};

/// The delay after which the sweeper processes a lane whose queue message was lost.
pub(crate) const FIRST_DUE: Duration = Duration::from_secs(120);

/// The stack on which the verbs act.
pub struct Console {
    /// The tables of the stack.
    pub store: Store,
    /// The queues and buckets of the stack.
    pub beside: Beside,
    /// The source of randomness for keys and secrets.
    pub random: Arc<dyn Randomness>,
    /// The receivers that may be endpoints although they are not public.
    pub trusted: TrustedReceivers,
    /// The provider, whose templates are read.
    pub graph: Graph,
}

/// An operator's command changes what it reads.
pub(crate) struct ByOperator;

impl Gate for ByOperator {
    type Refusal = Refusal;

    fn admit(&self) -> BoxFuture<'_, Result> {
        ready(Ok(())).boxed()
    }
}

impl<T> Check<T> for ByOperator {
    fn check(&self, _: &T) -> Result {
        Ok(())
    }
}

/// The WhatsApp Cloud API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The base URL.
    pub url: String,
    /// The version, such as `v23.0`.
    pub version: String,
}

impl Default for Graph {
    /// The defaults of the deployment's parameters (`template.yaml`).
    fn default() -> Self {
        Self { url: "https://graph.facebook.com".to_owned(), version: "v23.0".to_owned() }
    }
}

impl Console {
    /// Random bytes, for keys and secrets.
    pub(crate) fn entropy<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes);
        bytes
    }

    /// Random numbers, for keys.
    pub(crate) fn numbers<const N: usize>(&self) -> [u64; N] {
        secret::numbers(&*self.random)
    }

    /// What changes a workspace as the management API does. It knows no queues.
    pub(crate) async fn admin(&self, workspace: WorkspaceId) -> Result<Admin<'_, ByOperator>> {
        let by = self.beside.operator().await?;
        Ok(Admin::new(ByOperator, &self.store, workspace, by))
    }

    /// The same for changes that wake lanes.
    pub(crate) async fn admin_with_queues(&self, workspace: WorkspaceId) -> Result<Admin<'_, ByOperator>> {
        let queues = self.beside.queues().await.ok();
        Ok(Admin { queues, ..self.admin(workspace).await? })
    }

    /// Reads the workspace of a verb.
    pub(crate) async fn workspace(&self, within: &InWorkspace) -> Result<Workspace> {
        self.workspace_named(&within.workspace).await
    }

    pub(crate) async fn workspace_named(&self, named: &WorkspaceRef) -> Result<Workspace> {
        let name = match named {
            WorkspaceRef::Id(id) => return self.workspace_of(*id).await,
            WorkspaceRef::Name(name) => name,
        };
        let mut found = self.store.workspaces().await?;
        found.retain(|workspace| same_name(&workspace.name, name));
        if found.len() > 1 {
            let ids = found.iter().map(|workspace| workspace.id.to_string()).collect();
            return Err(Refusal::SeveralWorkspaces { name: name.clone(), ids });
        }
        Named::Workspace.found(found.pop(), format!("{name:?}"))
    }

    /// Reads a workspace by its id.
    pub(crate) async fn workspace_of(&self, id: WorkspaceId) -> Result<Workspace> {
        Named::Workspace.found(self.store.workspace(id).await?, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_is_by_default_that_of_a_deployment() {
        let template = include_str!("../../../template.yaml");
        let default = |parameter: &str| {
            let of = template.split(&format!("\n  {parameter}:\n")).nth(1).unwrap();
            of.split("Default: ").nth(1).unwrap().lines().next().unwrap().to_owned()
        };
        let expected = Graph { url: default("GraphUrl"), version: default("GraphVersion") };
        assert_eq!(Graph::default(), expected);
    }
}
