//! What the provider says about business accounts and their lines, kept for each workspace of the account.
//!
//! An app that speaks for one workspace changes what is known in that workspace only.

use domain::settings::reported::{LineFact, LineState, News};
use domain::{BusinessAccountId, WorkspaceId};
use futures::future::try_join_all;
use provider::NotRead;
use provider::webhook::{About, AccountEvent, LineName};
use queue::Inbound;
use store::{RetryTime, Store, StoreError};

use crate::invocation::Invocation;
use crate::item::Wait;
use crate::mode::Mode;
use crate::reported::{change_account, line_state, record_lines};
use crate::sync::NotSynced;

/// Records the news. Three round trips: the workspaces of the account, what is known in each, and what is new. If a line is named by
/// a phone number that is not known, the provider's list of lines is read first.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    event: &AccountEvent,
) -> Result<(), StoreError> {
    let AccountEvent { account, is_alarming, .. } = event;
    let (field, news) = (&inbound.field, event.notice.as_ref().map(|(event, _)| event));
    if *is_alarming {
        tracing::warn!(account, field, news, "an account that cannot send as before");
        invocation.counted.other_changes.add(1);
    }
    match record(invocation, inbound, event).await? {
        Recorded::Done => invocation.counted.items_processed.add(1),
        Recorded::Nowhere => {
            let why = "no workspace of the app has a line of the account";
            tracing::info!(account, field, news, why, "news of an account dropped");
            invocation.counted.items_dropped.add(1);
        }
        Recorded::UnknownLine(why) => {
            tracing::warn!(account, field, news, why, "news of a line that is not known");
            invocation.counted.other_changes.add(1);
        }
        Recorded::Later(wait) => {
            invocation.counted.pieces_deferred.add(1);
            let queued = invocation.queue.send_delayed(std::slice::from_ref(inbound), wait.delay).await;
            queued.map_err(|error| StoreError::Failed(error.into()))?;
        }
    }
    Ok(())
}

enum Recorded {
    Done,
    /// No workspace has a line of the account.
    Nowhere,
    /// The account has lines here, and none of them is known by this name, for this reason.
    UnknownLine(&'static str),
    /// The provider does not list the lines now.
    Later(Wait),
}

/// What became of a reading of the account's lines.
enum Listed {
    Done,
    Refused,
    NotNow,
}

async fn record(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    event: &AccountEvent,
) -> Result<Recorded, StoreError> {
    let store = invocation.store;
    let Ok(account) = BusinessAccountId::parse(&event.account) else { return Ok(Recorded::Nowhere) };
    let mut workspaces = store.workspaces_of_account(&account).await?;
    workspaces.retain(|workspace| inbound.workspace.is_none_or(|only| only == *workspace));
    if workspaces.is_empty() {
        return Ok(Recorded::Nowhere);
    }
    let at = event.at.unwrap_or(inbound.received_at).min(inbound.received_at);
    let notice = event.notice.clone();
    match &event.about {
        About::Account(facts, restrictions) => {
            let (facts, restrictions) = (facts.clone(), restrictions.clone());
            let news = News { at, facts, restrictions, notice };
            change_account(store, &workspaces, &account, |known| known.told(&news, store.now())).await?;
            Ok(Recorded::Done)
        }
        About::Line(name, facts) => {
            let news = News { at, facts: facts.clone(), restrictions: None, notice };
            let of = |workspace| of_line(store, workspace, (&account, name), &news);
            if try_join_all(workspaces.iter().copied().map(of)).await?.contains(&true) {
                return Ok(Recorded::Done);
            }
            if let LineName::Id(_) = name {
                return Ok(Recorded::UnknownLine("no workspace has it"));
            }
            match list(invocation, &account, &workspaces).await? {
                Listed::Done => {}
                Listed::Refused => return Ok(Recorded::UnknownLine("the provider does not list the lines")),
                Listed::NotNow => {
                    let wait = Wait::for_a_record(store.now(), inbound);
                    return Ok(
                        wait.map_or(Recorded::UnknownLine("the provider does not answer"), Recorded::Later)
                    );
                }
            }
            let found = try_join_all(workspaces.iter().copied().map(of)).await?;
            Ok(if found.contains(&true) {
                Recorded::Done
            } else {
                Recorded::UnknownLine("no workspace has it")
            })
        }
    }
}

/// Reads the account's lines from the provider, and records what the list says of those of these workspaces.
async fn list(
    invocation: &Invocation<'_>,
    account: &BusinessAccountId,
    workspaces: &[WorkspaceId],
) -> Result<Listed, StoreError> {
    let (store, at) = (invocation.store, invocation.store.now());
    let lines = match invocation.templates.lines(store, account).await {
        Ok(lines) => lines.unwrap_or_default(),
        Err(NotSynced::Store(error)) => return Err(error),
        Err(NotSynced::Provider(error)) => {
            tracing::warn!(account = account.as_str(), %error, "lines not listed");
            let is_for_now = matches!(error, NotRead::NotNow(_));
            return Ok(if is_for_now { Listed::NotNow } else { Listed::Refused });
        }
    };
    record_lines(store, workspaces, account, &lines, (at, Mode::Record)).await?;
    Ok(Listed::Done)
}

/// Returns whether the workspace has the line.
async fn of_line(
    store: &Store,
    workspace: WorkspaceId,
    named: (&BusinessAccountId, &LineName),
    news: &News<LineFact>,
) -> Result<bool, StoreError> {
    let mut retries = RetryTime::new(store);
    loop {
        let Some(known) = known_line(store, workspace, named).await? else { return Ok(false) };
        let Some(next) = known.told(news, store.now()) else { return Ok(true) };
        if store.put_line_state(&next).await? {
            return Ok(true);
        }
        retries.wait().await?;
    }
}

async fn known_line(
    store: &Store,
    workspace: WorkspaceId,
    (account, name): (&BusinessAccountId, &LineName),
) -> Result<Option<LineState>, StoreError> {
    Ok(match name {
        LineName::Id(channel) => line_state(store, workspace, account, channel).await?,
        LineName::Digits(digits) => {
            let states = store.line_states(workspace).await?;
            states.into_iter().find(|state| state.business_account == *account && state.has_digits(digits))
        }
    })
}
