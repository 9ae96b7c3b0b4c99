//! `console brand ...`

use clap::Subcommand;
use domain::{Brand, BrandId};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, or_dash};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a brand. Its first line becomes the line from which it sends messages.
    Create {
        #[command(flatten)]
        within: InWorkspace,
        /// Name shown to operators.
        #[arg(long)]
        name: String,
        /// The brand's id [default: a random UUID].
        #[arg(long, value_parser = BrandId::parse)]
        id: Option<BrandId>,
    },
    /// List the brands, oldest first.
    List(InWorkspace),
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
        store.lines(workspace.id).await?.admit_brand(&brand.id)?;
        if store.create_brand(&workspace, &brand).await? {
            return output.one(&BrandView::from(&brand));
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
