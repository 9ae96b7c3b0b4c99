//! `console lead ...`

use clap::{Args, Subcommand};
use domain::{Consent, Lead, LeadId, LeadState, WorkspaceId};
use serde_json::Value;
use store::{LeadFilter, LeadPage, Page, Store};

use crate::arguments::{InWorkspace, one, one_of};
use crate::export::{Cell, Destination};
use crate::output::{Output, Report};
use crate::paging::{Limit, Listed};
use crate::unsent;
use crate::view::{View, beginning};
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List leads, newest first. A lead that has just arrived may be missing for a moment.
    List(List),
    /// Write all leads as CSV, newest first, with their consent and their campaign; with --json, as a JSON array.
    Export {
        #[command(flatten)]
        within: InWorkspace,
        /// Only leads in this state.
        #[arg(long, value_parser = one_of(LeadState::NAMES, LeadState::parse))]
        state: Option<LeadState>,
        #[command(flatten)]
        to: Destination,
    },
    /// Show a lead: its consent and what became of it.
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
    #[arg(long, value_parser = one_of(LeadState::NAMES, LeadState::parse))]
    state: Option<LeadState>,
    #[command(flatten)]
    limit: Limit,
    /// Only leads that follow this one in the list: the last one of the previous list.
    #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
    after: Option<LeadId>,
}

one!(OneLead {
    /// The lead's id: the requestId of the response.
    lead: LeadId = "ID", LeadId::parse
});

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::List(wanted) => wanted.find(console).await?.report(row, |lead| lead.id),
            Self::Export { within, state, to } => export(console, &within, state, &to, output).await?,
            Self::Show(one) => details(&one.read(console).await?).into(),
            Self::Retry { one, may_send_twice } => {
                details(&retry(console, &one, may_send_twice).await?).into()
            }
        })
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Listed<Lead>> {
        let workspace = console.workspace(&self.within).await?.id;
        let from = match self.after {
            None => None,
            Some(id) => {
                let last = admin::lead::<Refusal>(&console.store, workspace, id).await?;
                Some(LeadPage::behind(&last))
            }
        };
        let read = async |missing, from: Option<String>| {
            let most = u16::try_from(missing).unwrap_or(u16::MAX).min(Store::MOST_LEADS);
            page_of(console, workspace, self.state, from, most).await
        };
        self.limit.fill(from, read).await
    }
}

async fn page_of(
    console: &Console,
    workspace: WorkspaceId,
    state: Option<LeadState>,
    from: Option<String>,
    most: u16,
) -> Result<Page<Lead>> {
    let filter = LeadFilter { states: state.as_slice(), ..LeadFilter::default() };
    let page = console.store.leads(workspace, filter, from.as_deref(), most).await?;
    Ok(Page { items: page.leads, next: page.next })
}

async fn export(
    console: &Console,
    within: &InWorkspace,
    state: Option<LeadState>,
    to: &Destination,
    output: &mut Output<'_>,
) -> Result<Report> {
    let workspace = console.workspace(within).await?.id;
    let read = async |from| page_of(console, workspace, state, from, Store::MOST_LEADS).await;
    let header = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let cells = |lead: &Lead| COLUMNS.iter().map(|(_, cell)| cell(lead)).collect();
    to.write(header, read, cells, details, output).await
}

impl OneLead {
    async fn read(&self, console: &Console) -> Result<Lead> {
        let workspace = console.workspace(&self.within).await?;
        admin::lead(&console.store, workspace.id, self.lead).await
    }
}

/// Retries a lead as the management API does. The sweeper visits it.
async fn retry(console: &Console, one: &OneLead, may_send_twice: bool) -> Result<Lead> {
    let workspace = console.workspace(&one.within).await?;
    console.admin(workspace.id).await?.retry_lead(one.lead, may_send_twice).await
}

/// A column of an export: its name, and its cell of a lead.
type Column = (&'static str, fn(&Lead) -> Cell);

/// The columns of an export.
const COLUMNS: [Column; 22] = [
    ("requestId", |lead| Cell::text(lead.id)),
    ("createdAt", |lead| Cell::text(lead.created_at)),
    ("state", |lead| Cell::text(lead.state.as_str())),
    ("error", |lead| Cell::optional(lead.error.as_ref().map(|error| error.as_str()))),
    ("name", |lead| Cell::optional(lead.name.as_ref().map(|name| name.as_str()))),
    ("cellphone", |lead| Cell::Exact(lead.cellphone.as_str().to_owned())),
    ("brandId", |lead| Cell::text(lead.brand.as_str())),
    ("landingUri", |lead| Cell::text(lead.landing_uri.as_str())),
    (UTM[0], |lead| campaign(lead, UTM[0])),
    (UTM[1], |lead| campaign(lead, UTM[1])),
    (UTM[2], |lead| campaign(lead, UTM[2])),
    (UTM[3], |lead| campaign(lead, UTM[3])),
    (UTM[4], |lead| campaign(lead, UTM[4])),
    ("utm", |lead| other_campaign(lead)),
    ("consentStatus", |lead| Cell::text(lead.consent.status.as_str())),
    ("consentCapturedAt", |lead| Cell::optional(lead.consent.captured_at)),
    ("consentReceivedAt", |lead| Cell::text(lead.consent.received_at)),
    ("consentText", |lead| Cell::optional(lead.consent.text.as_ref().map(|text| text.as_str()))),
    ("userAgent", |lead| Cell::optional(lead.consent.user_agent.as_deref())),
    ("score", |lead| Cell::text(score(&lead.consent))),
    ("contactId", |lead| Cell::optional(lead.opened.then_some(lead.contact))),
    ("conversationId", |lead| Cell::optional(lead.opened.then_some(lead.conversation))),
];

/// The campaign parameters that have a column each.
const UTM: [&str; 5] = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];

fn campaign(lead: &Lead, key: &str) -> Cell {
    Cell::optional(lead.utm.values().get(key))
}

fn other_campaign(lead: &Lead) -> Cell {
    let others = lead.utm.values().iter().filter(|(key, _)| !UTM.contains(&key.as_str()));
    Cell::Text(others.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("; "))
}

/// A lead in a list.
fn row(lead: &Lead) -> View {
    let campaign = lead.utm.values().iter().map(|(key, value)| format!("{key}={value}"));
    view(lead)
        .without_cells()
        .cell("lead", lead.id.to_string())
        .cell("state", lead.state.as_str())
        .cell("number", lead.cellphone.as_str())
        .cell("name", lead.name.as_ref().map_or("", |name| name.as_str()))
        .cell("page", beginning(lead.landing_uri.as_str(), 60))
        .lines("campaign", campaign)
        .cell("brand", lead.brand.as_str())
        .cell("created", lead.created_at.to_string())
        .lines("error", unsent::in_words(lead.error.as_ref()))
}

fn view(lead: &Lead) -> View {
    View::new()
        .text("requestId", "lead", lead.id)
        .text("state", "state", lead.state.as_str())
        .text("cellphone", "number", lead.cellphone.as_str())
        .text("brandId", "brand", lead.brand.as_str())
        .text("createdAt", "created", lead.created_at)
        .text("updatedAt", "updated", lead.updated_at)
        .and(unsent::json_of(lead.error.as_ref()))
        .lines("error", unsent::in_words(lead.error.as_ref()))
        .optional("name", "name", lead.name.as_ref().map(|name| name.as_str()))
        .text("landingUri", "page", lead.landing_uri.as_str())
        .json(
            "utm",
            lead.utm.values().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Value>(),
        )
        .lines("campaign", lead.utm.values().iter().map(|(key, value)| format!("{key}={value}")))
}

/// All fields of a lead. Contact, conversation and message are present once they exist.
pub(crate) fn details(lead: &Lead) -> View {
    let consent = &lead.consent;
    let captured = consent.captured_at.map(|at| format!(" at {at}")).unwrap_or_default();
    let status = consent.status.as_str();
    view(lead)
        .json("consent", consent_view(consent))
        .cell("consent", format!("{status}{captured}, received at {}", consent.received_at))
        .lines("consent text", consent.text.as_ref().map(|text| text.as_str().to_owned()))
        .cell("captcha score", score(consent).to_string())
        .lines("browser", consent.user_agent.clone())
        .cell("address hash", &consent.address_hash)
        .optional("contactId", "contact", lead.opened.then_some(lead.contact))
        .optional("conversationId", "conversation", lead.opened.then_some(lead.conversation))
        .optional("messageId", "message", lead.sent_message())
        .json("version", lead.version)
}

/// The record of the visitor's consent.
fn consent_view(consent: &Consent) -> View {
    View::new()
        .json("status", consent.status.as_str())
        .json("capturedAt", consent.captured_at.map(|at| at.to_string()))
        .json("text", consent.text.as_ref().map(|text| text.as_str()))
        .json("receivedAt", consent.received_at.to_string())
        .json("landingUri", consent.landing_uri.as_str())
        .json("addressHash", &*consent.address_hash)
        .json("userAgent", consent.user_agent.clone())
        .json("score", score(consent))
}

fn score(consent: &Consent) -> f64 {
    f64::from(consent.score.hundredths()) / 100.0
}
