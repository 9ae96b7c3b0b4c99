//! The rows of what the provider says about accounts and lines, changed also if somebody else changes them at the same time.

use domain::settings::reported::{AccountReport, LineState};
use domain::{BusinessAccountId, ChannelId, Timestamp, WorkspaceId};
use futures::future::{try_join, try_join_all};
use provider::ListedLine;
use store::{RetryTime, Store, StoreError};

use crate::mode::Mode;

/// Changes what is known of an account in each of these workspaces. Two round trips, one if nothing changes.
pub(crate) async fn change_account(
    store: &Store,
    workspaces: &[WorkspaceId],
    account: &BusinessAccountId,
    next: impl Fn(&AccountReport) -> Option<AccountReport>,
) -> Result<(), StoreError> {
    let of = async |workspace: &WorkspaceId| {
        let mut retries = RetryTime::new(store);
        loop {
            let known = store.account_report(*workspace, account).await?;
            let known = known.unwrap_or_else(|| AccountReport::unknown(*workspace, account.clone()));
            let Some(next) = next(&known) else { return Ok(()) };
            if store.put_account_report(&next).await? {
                return Ok(());
            }
            retries.wait().await?;
        }
    };
    try_join_all(workspaces.iter().map(of)).await.map(drop)
}

/// What is known of a line. `None` if the workspace has no such line of the account.
pub(crate) async fn line_state(
    store: &Store,
    workspace: WorkspaceId,
    account: &BusinessAccountId,
    channel: &ChannelId,
) -> Result<Option<LineState>, StoreError> {
    let found = store.line_and_state(workspace, channel).await?;
    let found = found.filter(|(line, _)| line.business_account == *account);
    Ok(found.map(|(line, state)| LineState::of(&line, state)))
}

/// Records what the provider's list of an account's lines says of those that these workspaces have. Returns what differs. One round
/// trip, and one for each line that differs.
pub(crate) async fn record_lines(
    store: &Store,
    workspaces: &[WorkspaceId],
    account: &BusinessAccountId,
    listed: &[ListedLine],
    (at, mode): (Timestamp, Mode),
) -> Result<Vec<LineState>, StoreError> {
    let of = async |workspace: WorkspaceId| {
        let (lines, states) = try_join(store.lines(workspace), store.line_states(workspace)).await?;
        let mut changed = vec![];
        for line in lines.lines.into_iter().filter(|line| line.business_account == *account) {
            let Some(listed) = listed.iter().find(|listed| listed.channel == line.channel) else { continue };
            let known = states.iter().find(|state| state.channel == line.channel).cloned();
            changed.extend(record_line(store, LineState::of(&line, known), listed, (at, mode)).await?);
        }
        Ok::<_, StoreError>(changed)
    };
    Ok(try_join_all(workspaces.iter().copied().map(of)).await?.concat())
}

async fn record_line(
    store: &Store,
    mut known: LineState,
    listed: &ListedLine,
    (at, mode): (Timestamp, Mode),
) -> Result<Option<LineState>, StoreError> {
    let mut retries = RetryTime::new(store);
    loop {
        let Some(next) = known.listed(at, &listed.facts, store.now()) else { return Ok(None) };
        if mode == Mode::DryRun || store.put_line_state(&next).await? {
            return Ok(Some(next));
        }
        retries.wait().await?;
        let LineState { workspace_id, business_account, channel, .. } = &known;
        match line_state(store, *workspace_id, business_account, channel).await? {
            Some(current) => known = current,
            None => return Ok(None),
        }
    }
}
