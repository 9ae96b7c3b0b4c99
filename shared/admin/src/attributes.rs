//! Custom attributes: define and change them.

use domain::{AttributeDefinition, AttributeId, Definitions};
use store::IdempotencyKey;

use crate::admin::{Admin, Check, Created, Gate};
use crate::refused::Refused;

impl<G: Gate> Admin<'_, G> {
    /// Stores a definition, with the answer of an idempotency key. Three round trips.
    pub async fn create_attribute(
        &self,
        definition: &AttributeDefinition,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<Created, G::Refusal> {
        let store = self.store;
        let judge = |definitions: &Definitions| {
            definitions.admit(definition, store.now()).map_err(Refused::AttributeRefused)
        };
        let write = |seen| async move { store.create_definition(&seen, definition, &self.by, kept).await };
        self.create_judged(kept, || store.definitions(self.workspace), judge, write).await
    }
}

impl<G: Check<AttributeDefinition>> Admin<'_, G> {
    /// Changes a definition. `change` returns `None` if it has no effect. Three round trips.
    pub async fn update_attribute(
        &self,
        id: AttributeId,
        change: impl Fn(&AttributeDefinition) -> Result<Option<AttributeDefinition>, Refused>,
    ) -> Result<AttributeDefinition, G::Refusal> {
        self.until_written(|| self.try_update_attribute(id, &change)).await
    }

    async fn try_update_attribute(
        &self,
        id: AttributeId,
        change: &impl Fn(&AttributeDefinition) -> Result<Option<AttributeDefinition>, Refused>,
    ) -> Result<Option<AttributeDefinition>, G::Refusal> {
        let (store, of) = (self.store, self.workspace);
        // The definitions are read after the workspace, as for a new one.
        let workspace = store.workspace(of).await?.ok_or(Refused::UnknownWorkspace(of))?;
        let definitions = store.definitions(of).await?;
        let found = definitions.iter().find(|definition| definition.id == id);
        let seen = found.ok_or(Refused::UnknownAttribute(id))?;
        self.ready(seen).await?;
        let Some(next) = change(seen)? else { return Ok(Some(seen.clone())) };
        definitions.admit(&next, store.now()).map_err(Refused::AttributeRefused)?;
        let fields = seen.differences(&next);
        Ok(store.change_definition(&workspace, &next, &fields, &self.by).await?.then_some(next))
    }
}
