//! What the verbs work with.

use std::sync::Arc;

use domain::secret::Randomness;
use domain::{EndpointId, TrustedReceivers, WebhookEndpoint, Workspace, WorkspaceId};
use store::Store;

use crate::beside::Beside;
use crate::refusal::Refusal;

/// What the verbs work with.
pub struct Console {
    /// The tables of the stack.
    pub store: Store,
    /// Its queues and buckets.
    pub beside: Beside,
    /// Where keys and secrets come from.
    pub random: Arc<dyn Randomness>,
    /// Receivers that may be endpoints although they are not public.
    pub trusted: TrustedReceivers,
}

/// How often a change is tried again when others change the same thing at the same time.
pub(crate) const TRIES: usize = 20;

impl Console {
    /// An endpoint that is enabled, to be called now.
    pub(crate) async fn endpoint_to_call(
        &self,
        workspace: WorkspaceId,
        id: EndpointId,
    ) -> Result<WebhookEndpoint, Refusal> {
        let endpoint = self.store.endpoint(workspace, id).await?.ok_or(Refusal::UnknownEndpoint(id))?;
        if !endpoint.is_enabled() {
            return Err(Refusal::EndpointDisabled(id));
        }
        Ok(endpoint)
    }

    /// The workspace a verb is about.
    pub(crate) async fn workspace(&self, id: WorkspaceId) -> Result<Workspace, Refusal> {
        self.store.workspace(id).await?.ok_or(Refusal::UnknownWorkspace(id))
    }
}
