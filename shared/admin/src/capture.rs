//! The settings of lead capture.

use domain::lead::capture::{CaptureChange, CaptureKnown};
use domain::{BrandId, Capture, CaptureKey, Lines, Template, Workspace, WorkspaceId};
use futures::future::try_join;
use store::{Store, StoreError};

use crate::admin::{Admin, Check};
use crate::refused::Refused;

/// The settings of lead capture, and what they are judged by.
#[derive(Clone, Debug)]
pub struct JudgedCapture {
    /// The settings.
    pub capture: Capture,
    /// The template of the first message, if it exists.
    pub template: Option<Template>,
    lines: Lines,
}

impl JudgedCapture {
    /// Reads what settings are judged by. One round trip, after that of the workspace: a deleted template or a new default line
    /// changes the version of the workspace.
    async fn of(store: &Store, workspace: &Workspace, capture: Capture) -> Result<Self, StoreError> {
        let (id, named) = (workspace.id, capture.template);
        let (lines, mut templates) = try_join(store.lines(id), store.templates(id, named.as_slice())).await?;
        let lines = Lines { default: workspace.default_line.clone(), ..lines };
        Ok(Self { template: named.and_then(|id| templates.remove(&id)), capture, lines })
    }

    fn known(&self) -> CaptureKnown<'_> {
        CaptureKnown { lines: &self.lines, template: self.template.as_ref() }
    }

    /// The brands whose leads cannot get the template.
    pub fn unreachable(&self) -> Vec<&BrandId> {
        self.capture.unreachable(&self.known())
    }

    /// Refuses a change that names what does not exist, and one by which enabled settings lack something.
    fn check(&self, before: &Capture, change: &CaptureChange) -> Result<(), Refused> {
        let template = change.template.as_set().filter(|_| self.template.is_none()).copied();
        let brand = change.brand.as_set().filter(|brand| self.lines.brand(brand).is_none()).cloned();
        if template.is_some() || brand.is_some() {
            return Err(Refused::CaptureNames { template, brand });
        }
        let lacks = self.capture.newly_lacks(before, change, &self.known());
        if lacks.is_empty() {
            return Ok(());
        }
        Err(Refused::CaptureLacks { lacks, was_asked: change.enabled.is_some() })
    }
}

/// The settings of a workspace; `None` if lead capture is not set up. Two round trips.
pub async fn capture<E>(store: &Store, id: WorkspaceId) -> Result<Option<JudgedCapture>, E>
where
    E: From<Refused> + From<StoreError>,
{
    let (workspace, capture) = try_join(store.workspace(id), store.capture(id)).await?;
    let workspace = workspace.ok_or(Refused::UnknownWorkspace(id))?;
    let Some(capture) = capture else { return Ok(None) };
    Ok(Some(JudgedCapture::of(store, &workspace, capture).await?))
}

impl<G: Check<Option<Capture>>> Admin<'_, G> {
    /// Changes the settings; sets lead capture up, with this key, if it is not set up yet. Three round trips.
    pub async fn update_capture(
        &self,
        change: &CaptureChange,
        key: &CaptureKey,
    ) -> Result<JudgedCapture, G::Refusal> {
        self.until_written(|| self.try_update_capture(change, key)).await
    }

    async fn try_update_capture(
        &self,
        change: &CaptureChange,
        key: &CaptureKey,
    ) -> Result<Option<JudgedCapture>, G::Refusal> {
        let (store, id) = (self.store, self.workspace);
        let (workspace, seen) = try_join(store.workspace(id), store.capture(id)).await?;
        let workspace = workspace.ok_or(Refused::UnknownWorkspace(id))?;
        self.ready(&seen).await?;
        let new = Capture::new(id, key.clone(), store.now());
        let next = match &seen {
            Some(seen) => seen.changed(change, store.now()).map(|next| next.unwrap_or_else(|| seen.clone())),
            None => new.with(change),
        };
        let next = JudgedCapture::of(store, &workspace, next.map_err(Refused::TooManyOrigins)?).await?;
        let before = seen.as_ref().unwrap_or(&new);
        next.check(before, change)?;
        let mut fields = before.differences(&next.capture);
        match &seen {
            Some(seen) if *seen == next.capture => return Ok(Some(next)),
            Some(_) => {}
            None => fields.push("captureKey"),
        }
        fields.extend(change.secret.as_ref().map(|_| "captchaSecret"));
        let settings = (&next.capture, change.secret.as_ref());
        let is_done = store.save_capture(&workspace, settings, &fields, &self.by).await?;
        Ok(is_done.then_some(next))
    }

    /// Replaces the key. The previous one is refused at once. Three round trips.
    pub async fn rotate_capture_key(&self, key: &CaptureKey) -> Result<JudgedCapture, G::Refusal> {
        self.until_written(|| self.try_rotate_capture_key(key)).await
    }

    async fn try_rotate_capture_key(&self, key: &CaptureKey) -> Result<Option<JudgedCapture>, G::Refusal> {
        let (store, id) = (self.store, self.workspace);
        let (workspace, seen) = try_join(store.workspace(id), store.capture(id)).await?;
        let workspace = workspace.ok_or(Refused::UnknownWorkspace(id))?;
        self.ready(&seen).await?;
        let next = seen.ok_or(Refused::NoCapture)?.rekeyed(key.clone(), store.now());
        let next = JudgedCapture::of(store, &workspace, next).await?;
        Ok(store.rekey_capture(&next.capture, &self.by).await?.then_some(next))
    }
}
