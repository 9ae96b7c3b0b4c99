//! The templates that open conversations.

use std::collections::BTreeMap;

use domain::settings::line::Reached;
use domain::settings::template::Accepting;
use domain::{Line, Onboarding};
use futures::future::try_join;

use crate::admin::{Admin, Check};
use crate::refused::Refused;

/// An onboarding that was set, or that the workspace had already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOnboarding {
    /// The onboarding.
    pub onboarding: Onboarding,
    /// Why a conversation on another line than the default one can be refused because of it.
    pub on_other_lines: Option<domain::Refused>,
}

impl<G: Check<Onboarding>> Admin<'_, G> {
    /// Sets the templates that open conversations. Refused if a conversation without templates of its own would be refused on
    /// the default line. `is_object` says whether a text is a JSON object. Three round trips.
    pub async fn set_onboarding(
        &self,
        wanted: &Onboarding,
        is_object: fn(&str) -> bool,
    ) -> Result<SetOnboarding, G::Refusal> {
        self.until_written(|| self.try_set_onboarding(wanted, is_object)).await
    }

    async fn try_set_onboarding(
        &self,
        wanted: &Onboarding,
        is_object: fn(&str) -> bool,
    ) -> Result<Option<SetOnboarding>, G::Refusal> {
        let (store, id) = (self.store, self.workspace);
        // Read the workspace first: a deleted template or a new default line changes its version, and the write fails.
        let workspace = store.workspace(id).await?.ok_or(Refused::UnknownWorkspace(id))?;
        let (templates, lines) = try_join(store.templates(id, &wanted.sequence), store.lines(id)).await?;
        self.ready(&workspace.onboarding).await?;
        let is_default = |line: &&Line| workspace.default_line.as_ref() == Some(&line.channel);
        let (default, others): (Vec<_>, Vec<_>) = lines.lines.iter().partition(is_default);
        let judge = |lines: Vec<&Line>| {
            let lines: Vec<Reached> = lines.into_iter().map(Reached::from).collect();
            let with = Accepting { lines: &lines, media: &BTreeMap::new(), now: store.now(), is_object };
            wanted.check(&templates, &with)
        };
        judge(default).map_err(Refused::Onboarding)?;
        let set = SetOnboarding { onboarding: wanted.clone(), on_other_lines: judge(others).err() };
        let Some(next) = workspace.with_onboarding(wanted.clone()) else { return Ok(Some(set)) };
        let fields = workspace.onboarding.differences(&next.onboarding);
        Ok(store.update_onboarding(&next, &fields, &self.by).await?.then_some(set))
    }
}
