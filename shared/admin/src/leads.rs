//! Leads: one of them, and retries.

use domain::lead::{NotRetried, RetryKnown};
use domain::{Capture, Choices, LaneId, Lead, LeadId, MessageId, TemplateCategory, Track, WorkspaceId};
use futures::future::try_join;
use futures::{StreamExt, TryFutureExt};
use queue::Wake;
use store::{LeadFilter, LeadPage, RetryTime, Store, StoreError};

use crate::admin::{Admin, Check};
use crate::refused::Refused;

/// The number of leads of a page that are retried at the same time.
const AT_ONCE: usize = 16;

/// A lead. One round trip.
pub async fn lead<E>(store: &Store, workspace: WorkspaceId, id: LeadId) -> Result<Lead, E>
where
    E: From<Refused> + From<StoreError>,
{
    let found = store.lead(workspace, id).await?;
    Ok(found.ok_or(Refused::UnknownLead(id))?)
}

/// A request to retry a page of leads.
#[derive(Clone, Debug)]
pub struct LeadRetries<'a> {
    /// Which leads.
    pub filter: LeadFilter<'a>,
    /// Where the page begins.
    pub from: Option<&'a str>,
    /// The maximum number of leads of the page.
    pub limit: u16,
    /// Whether the caller accepts that visitors may get the message a second time.
    pub may_send_twice: bool,
}

/// What became of a page of leads.
#[derive(Clone, Debug, Default)]
pub struct RetriedLeads {
    /// The leads that were queued again, newest first.
    pub retried: Vec<LeadId>,
    /// The others, and why they were not.
    pub refused: Vec<(LeadId, NotRetried)>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<String>,
}

/// The settings of a workspace that decide about retries.
struct Settings {
    capture: Option<Capture>,
    /// The category of the template that leads get.
    category: Option<TemplateCategory>,
}

impl Settings {
    /// Two round trips. Then the key is in memory with which the choices of numbers are found.
    async fn read(store: &Store, workspace: WorkspaceId) -> Result<Self, StoreError> {
        let settings = async {
            let capture = store.capture(workspace).await?;
            let template = capture.as_ref().and_then(|capture| capture.template);
            let templates = store.templates(workspace, template.as_slice()).await?;
            let category = templates.into_values().next().and_then(|template| template.category);
            Ok(Self { capture, category })
        };
        let (settings, _) = try_join(settings, store.person_key()).await?;
        Ok(settings)
    }
}

impl<G: Check<Lead>> Admin<'_, G> {
    /// Retries a lead: queues it again, whatever its message became. Three round trips, and the queue's.
    pub async fn retry_lead(&self, id: LeadId, may_send_twice: bool) -> Result<Lead, G::Refusal> {
        let lead = self.until_written(|| self.try_retry(id, may_send_twice)).await?;
        self.wake_leads(&[id]).await;
        Ok(lead)
    }

    async fn try_retry(&self, id: LeadId, may_send_twice: bool) -> Result<Option<Lead>, G::Refusal> {
        let settings = Settings::read(self.store, self.workspace).map_err(G::Refusal::from);
        let seen = async {
            let seen = lead::<G::Refusal>(self.store, self.workspace, id).await?;
            let choices = self.choices(&seen).await?;
            Ok((seen, choices))
        };
        let ((seen, choices), settings) = try_join(seen, settings).await?;
        self.ready(&seen).await?;
        let state = seen.state;
        let next = self.judge(&seen, &choices, &settings, may_send_twice);
        let next = next.map_err(|reason| Refused::LeadNotRetried { state, reason })?;
        let is_written = self.store.retry_lead(&seen, &next, Some(&self.by)).await?;
        Ok(is_written.then_some(next))
    }

    /// Retries a page of leads, each of which is judged by itself. A repeat after an interruption continues, because a lead that
    /// was queued again is none of those any more. The audit log has one entry for the page, which is written first.
    pub async fn retry_leads(&self, wanted: &LeadRetries<'_>) -> Result<RetriedLeads, G::Refusal> {
        let page = self.store.leads(self.workspace, wanted.filter, wanted.from, wanted.limit);
        let (page, settings) = try_join(page, Settings::read(self.store, self.workspace)).await?;
        let LeadPage { leads, next } = page;
        let mut done = RetriedLeads { next, ..RetriedLeads::default() };
        if leads.is_empty() {
            return Ok(done);
        }
        self.gate.admit().await?;
        self.store.record_lead_retries(self.workspace, &self.by).await?;
        let ids: Vec<LeadId> = leads.iter().map(|lead| lead.id).collect();
        let retries: Vec<_> =
            leads.into_iter().map(|lead| self.retry_one(lead, &settings, wanted.may_send_twice)).collect();
        let results: Vec<_> = futures::stream::iter(retries).buffered(AT_ONCE).collect().await;
        let mut failed = None;
        for (id, result) in ids.into_iter().zip(results) {
            match result {
                Ok(Ok(())) => done.retried.push(id),
                Ok(Err(reason)) => done.refused.push((id, reason)),
                Err(error) => failed = Some(error),
            }
        }
        // Those that were queued again are visited also if the request fails.
        self.wake_leads(&done.retried).await;
        failed.map_or(Ok(done), |error| Err(error.into()))
    }

    async fn retry_one(
        &self,
        mut seen: Lead,
        settings: &Settings,
        may_send_twice: bool,
    ) -> Result<Result<(), NotRetried>, StoreError> {
        let mut retries = RetryTime::for_merges(self.store);
        loop {
            let choices = self.choices(&seen).await?;
            let next = match self.judge(&seen, &choices, settings, may_send_twice) {
                Ok(next) => next,
                Err(reason) => return Ok(Err(reason)),
            };
            if self.store.retry_lead(&seen, &next, None).await? {
                return Ok(Ok(()));
            }
            retries.wait().await?;
            match self.store.lead(self.workspace, seen.id).await? {
                Some(lead) => seen = lead,
                // It was erased.
                None => return Ok(Err(NotRetried::State)),
            }
        }
    }

    /// What is kept about the lead's number. One round trip.
    async fn choices(&self, lead: &Lead) -> Result<Option<Choices>, StoreError> {
        self.store.choices(self.workspace, &lead.cellphone).await
    }

    fn judge(
        &self,
        seen: &Lead,
        choices: &Option<Choices>,
        settings: &Settings,
        may_send_twice: bool,
    ) -> Result<Lead, NotRetried> {
        let known = RetryKnown {
            capture: settings.capture.as_ref(),
            category: settings.category,
            choices: choices.as_slice(),
            may_send_twice,
        };
        seen.retry(&known, MessageId::generate(self.store.ids()), self.store.now())
    }

    /// Queues leads. The sweeper looks at those that the queue did not accept: they are due.
    async fn wake_leads(&self, leads: &[LeadId]) {
        let wake = |id: &LeadId| Wake::now(LaneId::Lead(self.workspace, *id), Track::Fast);
        let wakes: Vec<Wake> = leads.iter().map(wake).collect();
        if let Some(queues) = self.queues.as_ref().filter(|_| !wakes.is_empty()) {
            queues.enqueue(&wakes).await.ok();
        }
    }
}
