use domain::settings::reported::{AccountReport, LineState};
use domain::{ChannelId, Line};
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join4;

/// GET /settings/brands: one round trip. A workspace has at most 50 brands.
pub(crate) async fn brands(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    let lines = call.store().lines(call.workspace()).await?;
    Reply::list(&view::BrandsView { brands: lines.brands.iter().map(view::brand).collect() })
}

/// GET /settings/lines: two round trips, the second of which reads which lines are throttled. A workspace has at most 50 lines.
pub(crate) async fn lines(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    let (store, id) = (call.store(), call.workspace());
    let reads =
        try_join4(store.workspace(id), store.lines(id), store.line_states(id), store.account_reports(id));
    let (workspace, lines, states, accounts) = reads.await?;
    let channels: Vec<ChannelId> = lines.lines.iter().map(|line| line.channel.clone()).collect();
    let throttled = store.throttled_lines(id, &channels).await?;

    let default = workspace.and_then(|workspace| workspace.default_line);
    let known: Vec<Known> = lines.lines.iter().map(|line| known(line, &states, &accounts)).collect();
    let lines = lines.lines.iter().zip(&known).map(|(line, (state, account))| {
        view::line(line, state, account, default.as_ref(), throttled.get(&line.channel).copied())
    });
    Reply::list(&view::LinesView { lines: lines.collect() })
}

type Known = (LineState, AccountReport);

/// What the provider said about a line and its account.
fn known(line: &Line, states: &[LineState], accounts: &[AccountReport]) -> Known {
    let (channel, account) = (&line.channel, &line.business_account);
    let state = states.iter().find(|state| state.channel == *channel).cloned();
    let report = accounts.iter().find(|report| report.id == *account).cloned();
    let report = report.unwrap_or_else(|| AccountReport::unknown(line.workspace_id, account.clone()));
    (LineState::of(line, state), report)
}
