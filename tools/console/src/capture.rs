//! `console capture ...`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::lead::captcha::Threshold;
use domain::lead::capture::{CaptureChange, CaptureKnown};
use domain::settings::template::{ContactField, Source};
use domain::{BrandId, Capture, CaptureKey, Lines, Secret, Template, TemplateId, WebOrigin, Workspace};
use futures::try_join;

use crate::arguments::{InWorkspace, patch, secret_text};
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit};
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
                let secret = settings.secret.read(output)?;
                let change = settings.change(Some(true), Removals::default());
                change_settings(console, &within, &change, secret).await?
            }
            Self::Set { within, settings, removals } => {
                let secret = settings.secret.read(output)?;
                let change = settings.change(None, removals);
                change_settings(console, &within, &change, secret).await?
            }
            Self::Disable(within) => disable(console, &within).await?.into(),
            Self::Show(within) => {
                let (around, capture) = Around::set_up(console, &within).await?;
                around.view(&capture, console).await?.into()
            }
            Self::RotateKey(within) => rotate_key(console, &within).await?,
        })
    }
}

impl Settings {
    fn change(self, enabled: Option<bool>, removals: Removals) -> CaptureChange {
        CaptureChange {
            enabled,
            add_origins: self.origins,
            remove_origins: removals.remove_origins,
            brand: patch(self.brand, removals.no_brand),
            template: patch(self.template, removals.no_template),
            threshold: self.threshold,
            daily_cap: patch(self.daily_cap, removals.no_daily_cap),
            phone_cap: patch(self.phone_cap, removals.no_phone_cap),
            rate: self.rate,
        }
    }
}

impl CaptchaSecret {
    fn read(&self, output: &mut Output<'_>) -> Result<Option<Secret>> {
        let text = secret_text(self.secret.as_deref(), self.secret_file.as_deref(), output)?;
        text.as_deref().map(Capture::secret).transpose().map_err(unfit("The captcha secret is invalid"))
    }
}

/// The lead capture settings and everything that their validation needs.
struct Around {
    workspace: Workspace,
    capture: Option<Capture>,
    has_secret: bool,
    lines: Lines,
}

impl Around {
    async fn read(console: &Console, within: &InWorkspace) -> Result<Self> {
        let workspace = console.workspace(within).await?;
        let id = workspace.id;
        let store = &console.store;
        let (capture, secret, lines) =
            try_join!(store.capture(id), store.captcha_secret(id), store.lines(id))?;
        let lines = Lines { default: workspace.default_line.clone(), ..lines };
        Ok(Self { workspace, capture, has_secret: secret.is_some(), lines })
    }

    /// Refuses a workspace whose lead capture is not set up.
    async fn set_up(console: &Console, within: &InWorkspace) -> Result<(Self, Capture)> {
        let around = Self::read(console, within).await?;
        let capture = around.capture.clone().ok_or(Refusal::NoCapture)?;
        Ok((around, capture))
    }

    async fn template(&self, capture: &Capture, console: &Console) -> Result<Option<Template>> {
        let Some(id) = capture.template else { return Ok(None) };
        Ok(console.store.templates(self.workspace.id, &[id]).await?.remove(&id))
    }

    fn known<'a>(&'a self, template: Option<&'a Template>) -> CaptureKnown<'a> {
        CaptureKnown { has_secret: self.has_secret, lines: &self.lines, template }
    }

    async fn view(&self, capture: &Capture, console: &Console) -> Result<View> {
        let template = self.template(capture, console).await?;
        Ok(view(capture, &self.known(template.as_ref())))
    }
}

/// Writes the changed settings. Enabled lead capture must be complete. Disabled lead capture may be incomplete, but a given
/// brand or template must exist.
async fn change_settings(
    console: &Console,
    within: &InWorkspace,
    change: &CaptureChange,
    secret: Option<Secret>,
) -> Result<Report> {
    let store = &console.store;
    let read = async || {
        let mut around = Around::read(console, within).await?;
        around.has_secret |= secret.is_some();
        let next = match &around.capture {
            Some(capture) => capture.changed(change, store.now())?.unwrap_or_else(|| capture.clone()),
            None => {
                Capture::new(around.workspace.id, CaptureKey::from_entropy(console.numbers()), store.now())
                    .with(change)?
            }
        };
        let template = around.template(&next, console).await?;
        Ok((around, next, template))
    };
    let decide = |(around, next, template): &(Around, Capture, Option<Template>)| {
        let known = around.known(template.as_ref());
        check(change, next, &known)?;
        Ok(Decision::Changed((view(next, &known), template.as_ref().and_then(asked_of_visitors))))
    };
    let write = async |(around, next, _): &(Around, Capture, Option<Template>), _: &_| {
        // Write the secret first, so that enabled lead capture always has one.
        if let Some(secret) = &secret {
            store.set_captcha_secret(around.workspace.id, secret).await?;
        }
        match &around.capture {
            Some(capture) if capture == next => Ok(true),
            Some(_) => store.change_capture(&around.workspace, next).await,
            None => store.create_capture(&around.workspace, next).await,
        }
    };
    let (view, remark) = changed(read, decide, write).await?;
    Ok(Report::from(view).remarks(remark))
}

fn check(change: &CaptureChange, next: &Capture, known: &CaptureKnown<'_>) -> Result {
    if let (Some(id), None) = (change.template.as_set(), known.template) {
        return Err(Named::Template.unknown(*id));
    }
    if let Some(brand) = change.brand.as_set().filter(|brand| known.lines.brand(brand).is_none()) {
        return Err(Named::Brand.unknown(brand.as_str()));
    }
    match (change.enabled, next.lacks(known)) {
        (_, lacks) if lacks.is_empty() || !next.enabled => Ok(()),
        (Some(_), lacks) => Err(Refusal::CannotEnable(lacks)),
        (None, lacks) => Err(Refusal::CannotStayEnabled(lacks)),
    }
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

async fn disable(console: &Console, within: &InWorkspace) -> Result<View> {
    let change = CaptureChange { enabled: Some(false), ..CaptureChange::default() };
    let disabled = |capture: &Capture| Ok(capture.changed(&change, console.store.now())?);
    replaced(console, within, disabled).await
}

async fn rotate_key(console: &Console, within: &InWorkspace) -> Result<Report> {
    let key = CaptureKey::from_entropy(console.numbers());
    let rekeyed = |capture: &Capture| Ok(Some(capture.rekeyed(key.clone(), console.store.now())));
    let view = replaced(console, within, rekeyed).await?;
    Ok(Report::from(view).remark("Give the pages the new key now: leads with the previous key are refused."))
}

async fn replaced(
    console: &Console,
    within: &InWorkspace,
    change: impl Fn(&Capture) -> Result<Option<Capture>>,
) -> Result<View> {
    let capture = changed(
        async || Around::set_up(console, within).await,
        |(_, capture)| Ok(Decision::of(capture, change(capture)?)),
        async |_, next| console.store.replace_capture(next).await,
    );
    let capture = capture.await?;
    Around::read(console, within).await?.view(&capture, console).await
}

/// The lead capture settings, without the captcha secret.
fn view(capture: &Capture, known: &CaptureKnown<'_>) -> View {
    let burst = Capture::quota(Some(capture)).burst;
    let origins: Vec<&str> = capture.origins.iter().map(WebOrigin::as_str).collect();
    // The service could not write to leads of these brands: the brand has no line, or the template is not approved for
    // the line's account.
    let unreachable: Vec<&str> = capture.unreachable(known).into_iter().map(BrandId::as_str).collect();
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
        .value("hasSecret", "captcha secret", known.has_secret)
        .value("unreachableBrands", "unreachable brands", unreachable)
        .text("createdAt", "created", capture.created_at)
        .text("updatedAt", "updated", capture.updated_at)
}
