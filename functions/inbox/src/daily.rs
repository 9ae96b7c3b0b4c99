//! The reading of the day: the templates and lines of all business accounts.
//!
//! ```text
//! schedule -> lines of all workspaces -> a piece for each account
//! piece    -> one page -> the next piece | after the last page: what the list no longer has, and the lines
//! ```
//!
//! The pieces of the accounts are spread over 15 minutes, because customers' messages are on the same queue.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::inbound::app::ProviderAppId;
use domain::settings::template::TemplateName;
use domain::{BusinessAccountId, TemplateScope, Timestamp};
use futures::{StreamExt, TryStreamExt};
use provider::NotRead;
use queue::{Inbound, InboundQueue, NotAccepted};
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};

use crate::invocation::Invocation;
use crate::item::Wait;
use crate::sync::{Account, Mode, NotSynced, Progress, Run};

/// The field of a piece that reads a page.
const FIELD: &str = "template_sync";
/// How many workspaces are read at the same time.
const AT_ONCE: usize = 16;
/// The time over which the first pieces are spread: the longest delay of a message.
const SPREAD: Duration = Duration::from_mins(15);
/// The number of pieces with the same delay.
const TOGETHER: usize = 10;
/// The greatest length of all names in a piece, in bytes: about 10,000 templates. A piece has room for twice as much.
const MAX_SEEN: usize = 400_000;

/// Why the readings of the day did not begin.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// The tables did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue did not accept a piece.
    #[error(transparent)]
    Queue(#[from] NotAccepted),
}

/// Queues the first piece for each account that has a line here. Returns the number of accounts. Two round trips for 16 workspaces, and
/// one for the pieces.
pub(crate) async fn begin(store: &Store, queue: &InboundQueue) -> Result<usize, NotBegun> {
    let workspaces = store.listed_workspaces().await?;
    let lines = futures::stream::iter(workspaces).map(|workspace| store.lines(workspace)).buffered(AT_ONCE);
    let lines: Vec<_> = lines.try_collect().await?;
    let lines = lines.into_iter().flat_map(|of_workspace| of_workspace.lines);
    let accounts: BTreeSet<BusinessAccountId> = lines.map(|line| line.business_account).collect();
    let pieces: Vec<Inbound> = accounts
        .iter()
        .map(|account| Inbound::of_the_service(store.now(), account, FIELD, serde_json::json!({})))
        .collect();
    let chunks = pieces.chunks(TOGETHER);
    let step = SPREAD / u32::try_from(chunks.len().max(1)).unwrap_or(u32::MAX);
    let mut delay = Duration::ZERO;
    for together in chunks {
        queue.send_delayed(together, delay).await?;
        delay += step;
    }
    Ok(accounts.len())
}

/// Whether the piece reads a page. An app cannot send one.
pub(crate) fn is_of_the_day(inbound: &Inbound) -> bool {
    inbound.field == FIELD && inbound.app == ProviderAppId::of_the_service()
}

/// Reads a page, and queues the piece of the next one. A piece that is repeated reads its page again.
pub(crate) async fn process(invocation: &Invocation<'_>, inbound: &Inbound) -> Result<(), StoreError> {
    let (store, counted) = (invocation.store, &invocation.counted);
    let account = match BusinessAccountId::parse(&inbound.account) {
        Ok(account) => Account::find(store, &account).await?,
        Err(_) => None,
    };
    let Some(account) = account else {
        tracing::info!(account = inbound.account, "no line of the account is here any more");
        counted.items_dropped.add(1);
        return Ok(());
    };
    let creates_in = account.workspaces.iter().copied().map(TemplateScope::Workspace).collect();
    let mut run = Run::new(store, invocation.templates.client(), account, creates_in, Mode::Record);
    if let Some(progress) = read(inbound) {
        run = run.resumed(progress);
    }
    match read_page(&mut run).await {
        Ok(()) => {}
        Err(NotSynced::Store(error)) => return Err(error),
        Err(NotSynced::Provider(error)) => return not_read(invocation, inbound, &error).await,
    }
    counted.items_processed.add(1);
    match run.progress() {
        Some(progress) => {
            let next = Inbound { received_at: store.now(), value: written(progress), ..inbound.clone() };
            queued(invocation, next, Duration::ZERO).await
        }
        None => Ok(()),
    }
}

/// Reads the next page, and after the last one everything else.
async fn read_page(run: &mut Run<'_>) -> Result<(), NotSynced> {
    run.step().await?;
    while run.progress().is_none() && run.step().await?.is_some() {}
    Ok(())
}

/// What becomes of a piece whose page was not read: a later try, until a quarter of an hour has passed. The next day begins anew.
async fn not_read(invocation: &Invocation<'_>, inbound: &Inbound, error: &NotRead) -> Result<(), StoreError> {
    let account = &inbound.account;
    let wait = match error {
        NotRead::NotNow(_) => Wait::for_a_record(invocation.store.now(), inbound),
        NotRead::Refused { .. } | NotRead::Gone => None,
    };
    let Some(wait) = wait else {
        tracing::error!(account, %error, "an account's templates and lines were not read");
        invocation.counted.other_changes.add(1);
        return Ok(());
    };
    tracing::warn!(account, %error, "an account's templates and lines are read later");
    invocation.counted.pieces_deferred.add(1);
    queued(invocation, inbound.clone(), wait.delay).await
}

async fn queued(invocation: &Invocation<'_>, piece: Inbound, delay: Duration) -> Result<(), StoreError> {
    let queued = invocation.queue.send_delayed(&[piece], delay).await;
    queued.map_err(|error| StoreError::Failed(error.into()))
}

/// The value of a piece. The first one of an account is empty.
#[derive(Serialize, Deserialize)]
struct Value {
    began: i64,
    after: Option<String>,
    seen: Option<BTreeSet<TemplateName>>,
}

fn read(inbound: &Inbound) -> Option<Progress> {
    let Value { began, after, seen } = Value::deserialize(&inbound.value).ok()?;
    Some(Progress { began: Timestamp::from_millis(began), after, seen })
}

fn written(Progress { began, after, seen }: &Progress) -> serde_json::Value {
    let length = |names: &BTreeSet<TemplateName>| -> usize {
        names.iter().map(|(name, language)| name.len() + language.len()).sum()
    };
    let seen = seen.clone().filter(|names| length(names) <= MAX_SEEN);
    if seen.is_none() {
        tracing::warn!("a list of templates is too long to tell which ones are gone");
    }
    serde_json::json!(Value { began: began.as_millis(), after: after.clone(), seen })
}
