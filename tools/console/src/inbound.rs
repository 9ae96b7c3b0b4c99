//! `console inbound ...`

use clap::{Args, Subcommand};
use domain::{ProviderApp, error_chain};
use provider::webhook::{Division, Piece, divide};
use queue::{Inbound, InboundQueue};
use serde_json::Value;
use store::{FailureBucket, Quarantined};

use crate::output::{Output, Report};
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List what is in quarantine, newest first.
    ///
    /// The service puts there what the provider sent and it cannot process: what is not of the documented form
    /// (UNREADABLE), what the queue refuses (NOT_QUEUED), and items that failed five times (UNPROCESSED). It is kept for
    /// 90 days.
    List(InBucket),
    /// Show a webhook in quarantine with its body, which is personal data.
    Show(OneWebhook),
    /// Process webhooks in quarantine again, with the code of this console's release. What can be read is queued, and
    /// leaves the quarantine.
    ///
    /// You can interrupt and repeat it: an item that was processed before changes nothing.
    Redrive(Redrive),
    /// Delete a webhook in quarantine.
    Delete(OneWebhook),
}

#[derive(Args)]
pub(crate) struct InBucket {
    /// The failure bucket (the stack's output FailureBucketName), if it cannot be found by the stack's name.
    #[arg(long, value_name = "NAME")]
    bucket: Option<String>,
}

#[derive(Args)]
pub(crate) struct OneWebhook {
    /// The id, as `inbound list` shows it.
    #[arg(long = "id", value_name = "ID")]
    id: String,
    #[command(flatten)]
    within: InBucket,
}

#[derive(Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    within: InBucket,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Only this webhook.
    #[arg(long = "id", value_name = "ID")]
    id: Option<String>,
    /// Everything in quarantine.
    #[arg(long)]
    all: bool,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let beside = &console.beside;
        Ok(match self {
            Self::List(within) => {
                let bucket = beside.failures(within.bucket).await?;
                bucket.quarantined().await?.iter().map(view).collect()
            }
            Self::Show(OneWebhook { id, within }) => {
                let bucket = beside.failures(within.bucket).await?;
                let bytes = bucket.quarantined_bytes(&id).await?.unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.to_string()));
                view(&found(&bucket, &id).await?).value("body", "body", body).into()
            }
            Self::Redrive(Redrive { which, within }) => {
                let bucket = beside.failures(within.bucket).await?;
                let wanted = match &which.id {
                    Some(id) => vec![found(&bucket, id).await?],
                    None => bucket.quarantined().await?,
                };
                let (queue, apps) = (beside.inbound().await?, console.store.provider_apps().await?);
                let mut done = vec![];
                for kept in wanted {
                    done.push(redrive(&bucket, &queue, &apps, kept).await?);
                }
                let failed = done.iter().filter(|(_, stays)| stays.is_some()).count();
                let failure = (failed > 0).then_some(Refusal::NotRedriven { failed, of: done.len() });
                done.iter().map(redriven_view).collect::<Report>().failed(failure)
            }
            Self::Delete(OneWebhook { id, within }) => {
                let bucket = beside.failures(within.bucket).await?;
                let kept = found(&bucket, &id).await?;
                bucket.end_quarantine(&id).await?;
                View::deleted("id", kept.id).into()
            }
        })
    }
}

async fn found(bucket: &FailureBucket, id: &str) -> Result<Quarantined> {
    Named::Inbound.found(bucket.quarantined_one(id).await?, id)
}

/// Queues what can be read of a webhook, and deletes it if that is everything. Returns why it stays otherwise.
async fn redrive(
    bucket: &FailureBucket,
    queue: &InboundQueue,
    apps: &[ProviderApp],
    kept: Quarantined,
) -> Result<(Quarantined, Option<String>)> {
    let Some(bytes) = bucket.quarantined_bytes(&kept.id).await? else {
        return Ok((kept, Some("it no longer exists".to_owned())));
    };
    let Some(app) = apps.iter().find(|app| app.id == kept.app) else {
        return Ok((kept, Some("there is no such app any more".to_owned())));
    };
    let Ok(Division { pieces, odd }) = divide(&bytes) else {
        return Ok((kept, Some("it is of another product than WhatsApp".to_owned())));
    };
    // The moment of the first receipt stays: it limits how long an item waits, and what a late one may change.
    let queued = |Piece { account, field, value, ranks }| {
        Inbound::new(app, kept.received_at, account, field, value, ranks)
    };
    let pieces: Vec<Inbound> = pieces.into_iter().map(queued).collect();
    let stays = match queue.send(&pieces).await {
        Err(error) => Some(error_chain(&error)),
        Ok(refused) if !refused.is_empty() => Some("the queue refuses it".to_owned()),
        Ok(_) if !odd.is_empty() => Some("this release cannot read it either".to_owned()),
        Ok(_) => None,
    };
    if stays.is_none() {
        bucket.end_quarantine(&kept.id).await?;
    }
    Ok((kept, stays))
}

fn view(of: &Quarantined) -> View {
    View::new()
        .text("id", "id", &of.id)
        .text("appId", "app", of.app.as_str())
        .text("receivedAt", "received", of.received_at)
        .text("reason", "reason", of.reason.as_str())
        .value("bytes", "bytes", of.bytes)
}

fn redriven_view((of, stays): &(Quarantined, Option<String>)) -> View {
    View::new().text("id", "id", &of.id).value("redriven", "redriven", stays.is_none()).value(
        "stays",
        "stays because",
        stays.clone(),
    )
}
