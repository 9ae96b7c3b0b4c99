//! Customers who get no templates, and the keywords by which they choose.

use domain::Cellphone;
use domain::choices::{ChoiceScope, Choices};
use domain::inbound::keywords::Keywords;

use crate::admin::{Admin, Check, Gate};
use crate::refused::Refused;

impl<G: Gate> Admin<'_, G> {
    /// Opts a number out of this scope. Returns what is kept for the number, and whether it had not opted out before. Four round
    /// trips.
    pub async fn opt_out(
        &self,
        cellphone: &Cellphone,
        scope: &ChoiceScope,
    ) -> Result<(Choices, bool), G::Refusal> {
        let (store, of) = (self.store, self.workspace);
        self.gate.admit().await?;
        self.until_written(|| async {
            let is_new = store.opt_out(of, cellphone, scope.clone(), store.now(), &self.by).await?;
            // If the person opted in at the same time, the number is opted out once more: this is the later choice.
            let kept = store.choices(of, cellphone).await?.filter(|kept| kept.is_out_of(scope));
            Ok(kept.map(|kept| (kept, is_new)))
        })
        .await
    }

    /// Opts in again whoever has the choices with this key, which [`domain::choices::Chooser::digest`] made. Two round trips for an
    /// erased person, else four.
    pub async fn opt_in(&self, key: &str) -> Result<(), G::Refusal> {
        self.gate.admit().await?;
        self.until_written(|| async {
            let kept = self.store.choices_at(self.workspace, key).await?;
            let seen = kept.filter(Choices::is_out_of_templates);
            let seen = seen.ok_or_else(|| Refused::UnknownOptOut(key.to_owned()))?;
            Ok(self.store.opt_in(&seen, &self.by).await?.then_some(()))
        })
        .await
    }
}

impl<G: Check<Option<Keywords>>> Admin<'_, G> {
    /// Sets the keywords; `None` are the default ones. Two round trips.
    pub async fn set_keywords(&self, next: Option<&Keywords>) -> Result<(), G::Refusal> {
        self.until_written(|| async {
            let seen = self.store.own_keywords(self.workspace).await?;
            self.ready(&seen).await?;
            if seen.as_ref() == next {
                return Ok(Some(()));
            }
            let change = (seen.as_ref(), next);
            Ok(self.store.replace_keywords(self.workspace, change, &self.by).await?.then_some(()))
        })
        .await
    }
}
