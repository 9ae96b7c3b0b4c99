//! `console lead ...`

use std::collections::BTreeMap;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::{Consent, Lead, LeadId, LeadState};
use futures::future::try_join;
use serde::Serialize;
use store::{LeadPage, Page, Store};

use crate::arguments::InWorkspace;
use crate::changed::{Decision, changed};
use crate::message::ProgressView;
use crate::output::{Output, Shown, or_dash, stacked};
use crate::paging::{Limit, Listed};
use crate::refusal::{Named, unfit};
use crate::unsent::ErrorView;
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List leads, newest first. A lead that has just arrived may be missing for a moment.
    List(List),
    /// Show a lead: its consent and its progress.
    Show(OneLead),
    /// Retry a FAILED or UNKNOWN lead immediately.
    Retry {
        #[command(flatten)]
        one: OneLead,
        /// Required for an UNKNOWN lead: the call outcome is unknown, so the visitor may get the message a second time.
        #[arg(long)]
        may_send_twice: bool,
    },
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only leads in this state.
    #[arg(long, value_parser = PossibleValuesParser::new(LeadState::NAMES))]
    state: Option<String>,
    #[command(flatten)]
    limit: Limit,
    /// Only leads that follow this one in the list: the last one of the previous list.
    #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
    after: Option<LeadId>,
}

#[derive(Args)]
pub(crate) struct OneLead {
    #[command(flatten)]
    within: InWorkspace,
    /// The lead's id: the requestId of the response.
    #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
    lead: LeadId,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::List(wanted) => wanted.find(console).await?.show(output, LeadView::from, |lead| lead.id),
            Self::Show(one) => output.one(&LeadDetails::from(&one.read(console).await?)),
            Self::Retry { one, may_send_twice } => {
                output.one(&LeadDetails::from(&retry(console, &one, may_send_twice).await?))
            }
        }
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Listed<Lead>, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let state =
            self.state.as_deref().map(LeadState::parse).transpose().map_err(unfit("The state is invalid"))?;
        let from = match self.after {
            None => None,
            Some(id) => {
                let last = console.store.lead(workspace, id).await?.ok_or_else(|| Named::Lead.unknown(id))?;
                Some(LeadPage::behind(&last))
            }
        };
        let read = async |missing, from: Option<String>| {
            let most = u16::try_from(missing).unwrap_or(u16::MAX).min(Store::MOST_LEADS);
            let page = console.store.leads(workspace, state, from.as_deref(), most).await?;
            Ok(Page { items: page.leads, next: page.next })
        };
        self.limit.fill(from, read).await
    }
}

impl OneLead {
    async fn read(&self, console: &Console) -> Result<Lead, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?;
        let lead = console.store.lead(workspace.id, self.lead).await?;
        Named::Lead.found(lead, self.lead)
    }
}

/// Retries a lead. The checks apply to the state that the lead has at the time of the write.
async fn retry(console: &Console, one: &OneLead, may_send_twice: bool) -> Result<Lead, Refusal> {
    let store = &console.store;
    changed(
        async || {
            let lead = one.read(console).await?;
            let capture = store.capture(lead.workspace_id);
            let (capture, opted_out) =
                try_join(capture, store.opted_out(lead.workspace_id, &lead.cellphone)).await?;
            Ok((lead, capture, opted_out))
        },
        |(lead, capture, opted_out)| {
            let next = lead.retried(store.now()).ok_or(Refusal::NotRetried(lead.state))?;
            if lead.state == LeadState::Unknown && !may_send_twice {
                return Err(Refusal::MaySendTwice);
            }
            // The lead would become SUPPRESSED, and such a lead is never retried.
            if !capture.as_ref().is_some_and(|capture| capture.enabled) {
                return Err(Refusal::WouldBeSuppressed("capture is disabled"));
            }
            if *opted_out {
                return Err(Refusal::WouldBeSuppressed("its number has opted out"));
            }
            Ok(Decision::Changed(next))
        },
        async |(lead, ..), next| store.retry_lead(lead, next).await,
    )
    .await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeadView {
    request_id: String,
    state: &'static str,
    #[serde(flatten)]
    error: ErrorView,
    cellphone: String,
    brand_id: String,
    created_at: String,
    updated_at: String,
}

impl From<&Lead> for LeadView {
    fn from(lead: &Lead) -> Self {
        Self {
            request_id: lead.id.to_string(),
            state: lead.state.as_str(),
            error: ErrorView::of(lead.error.as_ref()),
            cellphone: lead.cellphone.as_str().to_owned(),
            brand_id: lead.brand.as_str().to_owned(),
            created_at: lead.created_at.to_string(),
            updated_at: lead.updated_at.to_string(),
        }
    }
}

impl Shown for LeadView {
    const HEADINGS: &'static [&'static str] =
        &["lead", "state", "number", "brand", "created", "updated", "error"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.request_id.clone(),
            self.state.to_owned(),
            self.cellphone.clone(),
            self.brand_id.clone(),
            self.created_at.clone(),
            self.updated_at.clone(),
            or_dash(&self.error.cell()),
        ]
    }
}

/// All fields of a lead. Contact, conversation and message are present once they exist.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeadDetails {
    #[serde(flatten)]
    lead: LeadView,
    name: Option<String>,
    landing_uri: String,
    utm: BTreeMap<String, String>,
    consent: ConsentView,
    contact_id: Option<String>,
    conversation_id: Option<String>,
    message_id: Option<String>,
    progress: ProgressView,
    version: u64,
}

/// The record of the visitor's consent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConsentView {
    status: &'static str,
    captured_at: Option<String>,
    received_at: String,
    landing_uri: String,
    address_hash: String,
    user_agent: Option<String>,
    score: f64,
}

impl From<&Lead> for LeadDetails {
    fn from(lead: &Lead) -> Self {
        Self {
            lead: LeadView::from(lead),
            name: lead.name.as_ref().map(|name| name.as_str().to_owned()),
            landing_uri: lead.landing_uri.as_str().to_owned(),
            utm: lead.utm.values().clone(),
            consent: ConsentView::from(&lead.consent),
            contact_id: lead.opened.then(|| lead.contact.to_string()),
            conversation_id: lead.opened.then(|| lead.conversation.to_string()),
            message_id: lead.opened.then(|| lead.message.to_string()),
            progress: ProgressView::from(&lead.progress),
            version: lead.version,
        }
    }
}

impl From<&Consent> for ConsentView {
    fn from(consent: &Consent) -> Self {
        Self {
            status: consent.status.as_str(),
            captured_at: consent.captured_at.map(|at| at.to_string()),
            received_at: consent.received_at.to_string(),
            landing_uri: consent.landing_uri.as_str().to_owned(),
            address_hash: consent.address_hash.clone(),
            user_agent: consent.user_agent.clone(),
            score: f64::from(consent.score.hundredths()) / 100.0,
        }
    }
}

impl Shown for LeadDetails {
    const HEADINGS: &'static [&'static str] = &[
        "lead",
        "state",
        "number",
        "brand",
        "created",
        "updated",
        "error",
        "name",
        "page",
        "campaign",
        "consent",
        "captcha score",
        "browser",
        "address hash",
        "contact",
        "conversation",
        "message",
        "tries",
        "next at",
    ];

    fn cells(&self) -> Vec<String> {
        let captured = self.consent.captured_at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        let mut cells = self.lead.cells();
        cells.extend([
            or_dash(&self.name),
            self.landing_uri.clone(),
            stacked(self.utm.iter().map(|(key, value)| format!("{key}={value}"))),
            format!("{}{captured}, received at {}", self.consent.status, self.consent.received_at),
            self.consent.score.to_string(),
            or_dash(&self.consent.user_agent),
            self.consent.address_hash.clone(),
            or_dash(&self.contact_id),
            or_dash(&self.conversation_id),
            or_dash(&self.message_id),
            self.progress.tries(),
            or_dash(&self.progress.next_at),
        ]);
        cells
    }
}
