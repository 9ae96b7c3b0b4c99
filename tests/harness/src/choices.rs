use domain::WorkspaceId;
use domain::choices::{ChoiceScope, Chooser};
use store::{Store, StoreError};

/// What tests ask about choices.
pub trait OptedOut {
    /// Whether the number or the user id opted out of all templates.
    fn opted_out(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> impl Future<Output = Result<bool, StoreError>>;
}

impl OptedOut for Store {
    async fn opted_out(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<bool, StoreError> {
        let kept = self.choices(workspace, chooser).await?;
        Ok(kept.is_some_and(|kept| kept.is_out_of(&ChoiceScope::All)))
    }
}
