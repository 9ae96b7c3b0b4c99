//! `console capture ...`

use std::path::PathBuf;

use admin::JudgedCapture;
use clap::{Args, Subcommand};
use domain::lead::captcha::Threshold;
use domain::lead::capture::{CaptureChange, OriginsChange};
use domain::settings::template::{ContactField, Source};
use domain::{BrandId, Capture, CaptureKey, Secret, Template, TemplateId, WebOrigin, WorkspaceId};

use crate::arguments::{InWorkspace, patch, secret_text};
use crate::output::{Output, Report};
use crate::refusal::unfit;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Accept leads from the workspace's pages. Sets up lead capture, with a capture key, if it is not set up yet.
    ///
    /// Lead capture needs a captcha secret, an origin, and a template that needs no values from a caller and is
    /// approved for the account from which the default brand sends messages.
    Enable {
        #[command(flatten)]
        within: InWorkspace,
        #[command(flatten)]
        settings: Settings,
    },
    /// Change settings. Sets up lead capture if it is not set up yet, without enabling it.
    Set {
        #[command(flatten)]
        within: InWorkspace,
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        removals: Removals,
    },
    /// Accept no more leads. Leads that were accepted before and have no message yet get none.
    Disable(InWorkspace),
    /// Show the workspace's lead capture.
    Show(InWorkspace),
    /// Create a new capture key. Leads with the previous key are refused at once: give the pages the new key immediately.
    RotateKey(InWorkspace),
}

#[derive(Args)]
pub(crate) struct Settings {
    /// The origin of pages that may send leads, such as https://www.example.com; added to the existing origins;
    /// repeat for several. It is stored as browsers send it: in lower case, an international name in punycode.
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = WebOrigin::written)]
    origins: Vec<WebOrigin>,
    /// The default brand, for leads that name no brand.
    #[arg(long, value_name = "ID", value_parser = BrandId::parse)]
    brand: Option<BrandId>,
    /// The template of a lead's first message, from the workspace or the platform.
    #[arg(long, value_name = "ID", value_parser = TemplateId::parse)]
    template: Option<TemplateId>,
    #[command(flatten)]
    secret: CaptchaSecret,
    /// The lowest captcha score that is accepted, 0 to 1 [default at set-up: 0.5].
    #[arg(long, value_name = "SCORE", value_parser = Threshold::parse)]
    threshold: Option<Threshold>,
    /// The maximum number of leads per day (UTC) [default at set-up: no limit].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    daily_cap: Option<u32>,
    /// The maximum number of leads per day (UTC) with the same phone number [default at set-up: no limit].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    phone_cap: Option<u32>,
    /// The requests per second that the pages may send on average, 1 to 500, and ten times as many at once; beyond
    /// that, requests get 429 [default at set-up: 10].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Capture::MAX_RATE)))]
    rate: Option<u32>,
}

/// A file hides the secret. Other users of a machine can see the arguments of a process.
#[derive(Args)]
#[group(id = "the_secret", multiple = false)]
pub(crate) struct CaptchaSecret {
    /// The site secret of the captcha provider. Functions may use the previous secret for up to 5 more minutes.
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// A file that contains only the secret; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

#[derive(Args, Default)]
pub(crate) struct Removals {
    /// An origin whose pages may no longer send leads; repeat for several.
    #[arg(long = "remove-origin", value_name = "ORIGIN", value_parser = WebOrigin::written)]
    remove_origins: Vec<WebOrigin>,
    /// Remove the default brand: leads that name no brand are refused.
    #[arg(long, conflicts_with = "brand")]
    no_brand: bool,
    /// Remove the template, so that it can be deleted. Enabled lead capture needs a template.
    #[arg(long, conflicts_with = "template")]
    no_template: bool,
    /// Accept any number of leads per day.
    #[arg(long, conflicts_with = "daily_cap")]
    no_daily_cap: bool,
    /// Accept any number of leads with the same phone number.
    #[arg(long, conflicts_with = "phone_cap")]
    no_phone_cap: bool,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Enable { within, settings } => {
                let change = settings.change(Some(true), Removals::default(), output)?;
                change_settings(console, &within, change).await?
            }
            Self::Set { within, settings, removals } => {
                let change = settings.change(None, removals, output)?;
                change_settings(console, &within, change).await?
            }
            Self::Disable(within) => {
                let (workspace, _) = set_up(console, &within).await?;
                let change = CaptureChange { enabled: Some(false), ..CaptureChange::default() };
                view(&update(console, workspace, &change).await?).into()
            }
            Self::Show(within) => view(&set_up(console, &within).await?.1).into(),
            Self::RotateKey(within) => rotate_key(console, &within).await?,
        })
    }
}

impl Settings {
    fn change(
        self,
        enabled: Option<bool>,
        removals: Removals,
        output: &mut Output<'_>,
    ) -> Result<CaptureChange> {
        Ok(CaptureChange {
            enabled,
            origins: OriginsChange::Amend { add: self.origins, remove: removals.remove_origins },
            brand: patch(self.brand, removals.no_brand),
            template: patch(self.template, removals.no_template),
            threshold: self.threshold,
            daily_cap: patch(self.daily_cap, removals.no_daily_cap),
            phone_cap: patch(self.phone_cap, removals.no_phone_cap),
            rate: self.rate,
            secret: self.secret.read(output)?,
        })
    }
}

impl CaptchaSecret {
    fn read(&self, output: &mut Output<'_>) -> Result<Option<Secret>> {
        let text = secret_text(self.secret.as_deref(), self.secret_file.as_deref(), output)?;
        text.as_deref().map(Capture::secret).transpose().map_err(unfit("The captcha secret is invalid"))
    }
}

/// The settings of a workspace whose lead capture is set up.
async fn set_up(console: &Console, within: &InWorkspace) -> Result<(WorkspaceId, JudgedCapture)> {
    let workspace = console.workspace(within).await?.id;
    let judged = admin::capture::<Refusal>(&console.store, workspace).await?;
    Ok((workspace, judged.ok_or(Refusal::NoCapture)?))
}

async fn update(console: &Console, workspace: WorkspaceId, change: &CaptureChange) -> Result<JudgedCapture> {
    let key = CaptureKey::from_entropy(console.numbers());
    console.admin(workspace).await?.update_capture(change, &key).await
}

/// Writes the changed settings. A repeated command changes nothing, so a secret that is stored already is no change.
async fn change_settings(
    console: &Console,
    within: &InWorkspace,
    mut change: CaptureChange,
) -> Result<Report> {
    let workspace = console.workspace(within).await?.id;
    if change.secret.is_some() && change.secret == console.store.captcha_secret(workspace).await? {
        change.secret = None;
    }
    let judged = update(console, workspace, &change).await?;
    let remark = judged.template.as_ref().and_then(asked_of_visitors);
    Ok(Report::from(view(&judged)).remarks(remark))
}

/// A remark about a template that needs a value of the contact that a visitor may not have given.
fn asked_of_visitors(template: &Template) -> Option<String> {
    let asked = |source: &Source| match source {
        Source::Contact { field: ContactField::Cellphone, .. } => None,
        Source::Contact { field, fallback: None } => Some(field.as_str()),
        Source::Contact { .. } | Source::Caller | Source::CallerOr(_) | Source::Fixed(_) => None,
    };
    let slots = template.form.slots();
    let asked: Vec<&str> = slots.iter().filter_map(|slot| asked(template.source(&slot.name))).collect();
    (!asked.is_empty()).then(|| {
        format!(
            "Template {} has no fallback for {}: a visitor without that value gets no message.",
            template.id,
            asked.join(", ")
        )
    })
}

async fn rotate_key(console: &Console, within: &InWorkspace) -> Result<Report> {
    let workspace = console.workspace(within).await?.id;
    let key = CaptureKey::from_entropy(console.numbers());
    let judged = console.admin(workspace).await?.rotate_capture_key(&key).await?;
    let report = Report::from(view(&judged));
    Ok(report.remark("Give the pages the new key now: leads with the previous key are refused."))
}

/// The lead capture settings, without the captcha secret.
fn view(judged: &JudgedCapture) -> View {
    let capture = &judged.capture;
    let burst = Capture::quota(Some(capture)).burst;
    let origins: Vec<&str> = capture.origins.iter().map(WebOrigin::as_str).collect();
    // The service could not write to leads of these brands: the brand has no line, or the template is not approved for
    // the line's account.
    let unreachable: Vec<&str> = judged.unreachable().into_iter().map(BrandId::as_str).collect();
    View::new()
        .json("workspaceId", capture.workspace_id.to_string())
        .value("enabled", "enabled", capture.enabled)
        .text("captureKey", "capture key", capture.key.as_str())
        .value("origins", "origins", origins)
        .optional("brandId", "brand", capture.brand.as_ref().map(BrandId::as_str))
        .optional("leadTemplateId", "template", capture.template)
        .value("threshold", "threshold", f64::from(capture.threshold.hundredths()) / 100.0)
        .value("dailyCap", "daily cap", capture.caps.daily)
        .value("phoneCap", "cap per number", capture.caps.per_phone)
        .json("rate", capture.rate)
        .cell("rate", format!("{}/s, {burst} at once", capture.rate))
        .value("hasSecret", "captcha secret", capture.has_secret)
        .value("unreachableBrands", "unreachable brands", unreachable)
        .text("createdAt", "created", capture.created_at)
        .text("updatedAt", "updated", capture.updated_at)
}
