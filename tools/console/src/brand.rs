//! `console brand ...`

use clap::{Args, Subcommand};
use domain::{Brand, BrandId, usage};
use futures::try_join;
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::deleted::Deleted;
use crate::output::{Output, Shown, or_dash};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a brand. Its first line becomes the line from which it sends messages.
    Create {
        #[command(flatten)]
        within: InWorkspace,
        /// Name shown to operators, unique among the workspace's brands.
        #[arg(long)]
        name: String,
        /// The brand's id [default: a random UUID].
        #[arg(long, value_parser = BrandId::parse)]
        id: Option<BrandId>,
    },
    /// List the brands, oldest first.
    List(InWorkspace),
    /// Change a brand's name. Its id stays.
    Rename {
        #[command(flatten)]
        one: OneBrand,
        /// The new name, unique among the workspace's brands.
        #[arg(long)]
        name: String,
    },
    /// Delete a brand. Refused while a line belongs to it or lead capture has it as the default brand.
    ///
    /// Conversations keep the brand's id. Requests and leads that name a deleted brand are refused. Leads of the brand that
    /// are not sent yet fail with NO_LINE.
    Delete(OneBrand),
}

#[derive(Args)]
pub(crate) struct OneBrand {
    #[command(flatten)]
    within: InWorkspace,
    /// The brand's id.
    #[arg(long, value_name = "ID", value_parser = BrandId::parse)]
    brand: BrandId,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create { within, name, id } => create(console, &within, &name, id, output).await,
            Self::List(within) => {
                let workspace = console.workspace(within.workspace).await?;
                let lines = console.store.lines(workspace.id).await?;
                output.list_as::<BrandView, _>(&lines.brands)
            }
            Self::Rename { one, name } => rename(console, &one, &name, output).await,
            Self::Delete(one) => delete(console, one, output).await,
        }
    }
}

async fn create(
    console: &Console,
    within: &InWorkspace,
    name: &str,
    id: Option<BrandId>,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let store = &console.store;
    let unfit = |reason| Refusal::Unfit { what: "The brand cannot be created", reason };
    let id = id.map_or_else(|| BrandId::parse(&store.ids().next().to_string()), Ok).map_err(unfit)?;
    let brand = Brand::new(id, within.workspace, name, store.now()).map_err(unfit)?;
    for _ in 0..TRIES {
        // Read the workspace first: an addition after this read changes its version, and the write fails.
        let workspace = console.workspace(within.workspace).await?;
        store.lines(workspace.id).await?.admit_brand(&brand)?;
        if store.create_brand(&workspace, &brand).await? {
            return output.one(&BrandView::from(&brand));
        }
    }
    Err(Refusal::Contended)
}

/// A change without effect succeeds, so you can repeat the command.
async fn rename(
    console: &Console,
    one: &OneBrand,
    name: &str,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let store = &console.store;
    for _ in 0..TRIES {
        let workspace = console.workspace(one.within.workspace).await?;
        let lines = store.lines(workspace.id).await?;
        let brand = lines.brand(&one.brand).ok_or_else(|| Refusal::UnknownBrand(one.brand.clone()))?;
        let renamed =
            brand.renamed(name).map_err(|reason| Refusal::Unfit { what: "The name is invalid", reason })?;
        let Some(next) = renamed else { return output.one(&BrandView::from(brand)) };
        lines.check_brand_name(&next)?;
        if store.change_brand(&workspace, &next).await? {
            return output.one(&BrandView::from(&next));
        }
    }
    Err(Refusal::Contended)
}

async fn delete(console: &Console, one: OneBrand, output: &mut Output<'_>) -> Result<(), Refusal> {
    let store = &console.store;
    for _ in 0..TRIES {
        let workspace = console.workspace(one.within.workspace).await?;
        let (lines, capture) = try_join!(store.lines(workspace.id), store.capture(workspace.id))?;
        let brand = lines.brand(&one.brand).ok_or_else(|| Refusal::UnknownBrand(one.brand.clone()))?;
        let by = usage::of_brand(brand, &lines, capture.as_ref());
        if !by.is_empty() {
            return Err(Refusal::InUse { what: "brand", by });
        }
        if store.delete_brand(&workspace, brand).await? {
            return output.one(&Deleted { field: "brandId", id: one.brand.as_str().to_owned() });
        }
    }
    Err(Refusal::Contended)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BrandView {
    brand_id: String,
    name: String,
    /// The line from which the brand sends messages.
    provider_channel_id: Option<String>,
    created_at: String,
}

impl From<&Brand> for BrandView {
    fn from(brand: &Brand) -> Self {
        Self {
            brand_id: brand.id.as_str().to_owned(),
            name: brand.name.clone(),
            provider_channel_id: brand.line.as_ref().map(|line| line.as_str().to_owned()),
            created_at: brand.created_at.to_string(),
        }
    }
}

impl Shown for BrandView {
    const HEADINGS: &'static [&'static str] = &["brand", "name", "sends from", "created"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.brand_id.clone(),
            self.name.clone(),
            or_dash(&self.provider_channel_id),
            self.created_at.clone(),
        ]
    }
}
