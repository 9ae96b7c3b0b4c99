//! `console brand ...`

use clap::Subcommand;
use domain::{Brand, BrandId, ChannelId, Lines, used_by};

use crate::arguments::{InWorkspace, one};
use crate::changed::{Decision, changed};
use crate::line::lines_of;
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit, unused};
use crate::view::View;
use crate::{Console, Result};

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

one!(OneBrand {
    /// The brand's id.
    brand: BrandId = "ID", BrandId::parse
});

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create { within, name, id } => create(console, &within, &name, id).await?.into(),
            Self::List(within) => {
                let workspace = console.workspace(&within).await?;
                let lines = console.store.lines(workspace.id).await?;
                lines.brands.iter().map(view).collect()
            }
            Self::Rename { one, name } => one.rename(console, &name).await?.into(),
            Self::Delete(one) => one.delete(console).await?.into(),
        })
    }
}

async fn create(console: &Console, within: &InWorkspace, name: &str, id: Option<BrandId>) -> Result<View> {
    let store = &console.store;
    let workspace = console.workspace(within).await?.id;
    let id = id
        .map_or_else(|| BrandId::parse(&store.ids().next().to_string()), Ok)
        .map_err(unfit("The brand cannot be created"))?;
    let brand = Brand::new(id, workspace, name, store.now()).map_err(unfit("The brand cannot be created"))?;
    let brand = changed(
        async || lines_of(console, within).await,
        |(_, lines)| {
            lines.admit_brand(&brand)?;
            Ok(Decision::Changed(brand.clone()))
        },
        async |(workspace, _), next| store.create_brand(workspace, next).await,
    );
    Ok(view(&brand.await?))
}

impl OneBrand {
    fn of<'a>(&self, lines: &'a Lines) -> Result<&'a Brand> {
        Named::Brand.found(lines.brand(&self.brand), self.brand.as_str())
    }

    async fn rename(&self, console: &Console, name: &str) -> Result<View> {
        let brand = changed(
            async || lines_of(console, &self.within).await,
            |(_, lines)| {
                let brand = self.of(lines)?;
                let next = brand.renamed(name).map_err(unfit("The name is invalid"))?;
                next.iter().try_for_each(|next| lines.check_brand_name(next))?;
                Ok(Decision::of(brand, next))
            },
            async |(workspace, _), next| console.store.change_brand(workspace, next).await,
        );
        Ok(view(&brand.await?))
    }

    async fn delete(&self, console: &Console) -> Result<View> {
        let store = &console.store;
        let brand = changed(
            async || {
                let (workspace, lines) = lines_of(console, &self.within).await?;
                let capture = store.capture(workspace.id).await?;
                Ok((workspace, lines, capture))
            },
            |(_, lines, capture)| {
                let brand = self.of(lines)?;
                unused("brand", used_by::of_brand(brand, lines, capture.as_ref()))?;
                Ok(Decision::Changed(brand.clone()))
            },
            async |(workspace, ..), brand| store.delete_brand(workspace, brand).await,
        );
        Ok(View::deleted("brandId", brand.await?.id.as_str()))
    }
}

fn view(brand: &Brand) -> View {
    View::new()
        .text("brandId", "brand", brand.id.as_str())
        .text("name", "name", &brand.name)
        .optional("providerChannelId", "sends from", brand.line.as_ref().map(ChannelId::as_str))
        .text("createdAt", "created", brand.created_at)
}
