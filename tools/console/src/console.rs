//! The console: the stack on which the verbs act.

use crate::{Refusal, Result};
use std::sync::Arc;

use domain::secret::Randomness;
use domain::{EndpointId, TrustedReceivers, WebhookEndpoint, Workspace, WorkspaceId};
use store::Store;

use crate::beside::Beside;
use crate::refusal::Named;

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
}

impl Console {
    /// Reads an endpoint and refuses it if it is disabled.
    pub(crate) async fn endpoint_to_call(
        &self,
        workspace: WorkspaceId,
        id: EndpointId,
    ) -> Result<WebhookEndpoint> {
        let endpoint =
            self.store.endpoint(workspace, id).await?.ok_or_else(|| Named::Endpoint.unknown(id))?;
        if !endpoint.is_enabled() {
            return Err(Refusal::EndpointDisabled(id));
        }
        Ok(endpoint)
    }

    /// Reads the workspace of a verb.
    pub(crate) async fn workspace(&self, id: WorkspaceId) -> Result<Workspace> {
        self.store.workspace(id).await?.ok_or_else(|| Named::Workspace.unknown(id))
    }
}
