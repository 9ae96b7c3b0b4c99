//! What the provider says about business accounts and their lines, kept for each workspace of the account.
//!
//! An app that speaks for one workspace changes what is known in that workspace only.

use domain::settings::reported::{AccountFact, AccountReport, LineFact, LineState, News};
use domain::{BusinessAccountId, ChannelId, WorkspaceId};
use futures::future::try_join_all;
use provider::webhook::{About, AccountEvent, LineName};
use queue::Inbound;
use store::{RetryTime, Store, StoreError};

use crate::invocation::Invocation;

/// Records the news. Three round trips: the workspaces of the account, what is known in each, and what is new.
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
    match record(invocation.store, inbound, event).await? {
        Recorded::Done => invocation.counted.items_processed.add(1),
        Recorded::Nowhere => {
            let why = "no workspace of the app has a line of the account";
            tracing::info!(account, field, news, why, "news of an account dropped");
            invocation.counted.items_dropped.add(1);
        }
        Recorded::UnknownLine => {
            tracing::warn!(account, field, news, "news of a line that is not known");
            invocation.counted.other_changes.add(1);
        }
    }
    Ok(())
}

enum Recorded {
    Done,
    /// No workspace has a line of the account.
    Nowhere,
    /// The account has lines here, and none of them is known by this name.
    UnknownLine,
}

async fn record(store: &Store, inbound: &Inbound, event: &AccountEvent) -> Result<Recorded, StoreError> {
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
            let of = |workspace| of_account(store, workspace, &account, &news);
            try_join_all(workspaces.into_iter().map(of)).await?;
            Ok(Recorded::Done)
        }
        About::Line(name, facts) => {
            let news = News { at, facts: facts.clone(), restrictions: None, notice };
            let of = |workspace| of_line(store, workspace, (&account, name), &news);
            let found = try_join_all(workspaces.into_iter().map(of)).await?;
            Ok(if found.contains(&true) { Recorded::Done } else { Recorded::UnknownLine })
        }
    }
}

async fn of_account(
    store: &Store,
    workspace: WorkspaceId,
    account: &BusinessAccountId,
    news: &News<AccountFact>,
) -> Result<(), StoreError> {
    let mut retries = RetryTime::new(store);
    loop {
        let known = store.account_report(workspace, account).await?;
        let known = known.unwrap_or_else(|| AccountReport::unknown(workspace, account.clone()));
        let Some(next) = known.told(news, store.now()) else { return Ok(()) };
        if store.put_account_report(&next).await? {
            return Ok(());
        }
        retries.wait().await?;
    }
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
        LineName::Id(channel) => known_by_id(store, workspace, account, channel).await?,
        LineName::Digits(digits) => {
            let states = store.line_states(workspace).await?;
            states.into_iter().find(|state| state.business_account == *account && state.has_digits(digits))
        }
    })
}

async fn known_by_id(
    store: &Store,
    workspace: WorkspaceId,
    account: &BusinessAccountId,
    channel: &ChannelId,
) -> Result<Option<LineState>, StoreError> {
    let found = store.line_and_state(workspace, channel).await?;
    Ok(found.filter(|(line, _)| line.business_account == *account).map(|(line, state)| {
        state.unwrap_or_else(|| LineState::unknown(workspace, line.channel, line.business_account))
    }))
}
