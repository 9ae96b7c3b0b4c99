//! Makes one contact of two, as `POST /contacts/{contactId}/merge` does. The function `people` does the work.

use clap::Args;
use domain::{ContactId, ContactRef, Merge, MergeRefusal, MergeState, WorkspaceId};
use store::AskedMerge;

use super::find::{id_of, known};
use crate::arguments::{InWorkspace, contact_ref};
use crate::output::Report;
use crate::poll::Poll;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Args)]
pub(crate) struct MergeTwo {
    #[command(flatten)]
    within: InWorkspace,
    /// The contact that stays, by id, e-mail address or phone number. It keeps what it has, and takes what it has blank.
    #[arg(long, value_name = "ID|E-MAIL|PHONE", value_parser = contact_ref)]
    contact: ContactRef,
    /// The contact that becomes part of it.
    #[arg(long, value_name = "ID|E-MAIL|PHONE", value_parser = contact_ref)]
    merged: ContactRef,
    /// Wait until all conversations are moved, but at most this many seconds [default without a number: 60].
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "60",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    wait: Option<u64>,
}

impl MergeTwo {
    pub(crate) async fn run(self, console: &Console) -> Result<Report> {
        let (store, workspace) = (&console.store, console.workspace(&self.within).await?.id);
        let stays = id_of(console, workspace, &self.contact).await?;
        let goes = id_of(console, workspace, &self.merged).await?;
        let running = match store.ask_merge(workspace, stays, goes).await? {
            AskedMerge::Running(merge) => Some(merge),
            AskedMerge::Refused(MergeRefusal::AlreadyMerged)
                if store.merged_into(workspace, goes).await? == Some(stays) =>
            {
                None
            }
            AskedMerge::Refused(reason) => {
                return Err(why_not(console, workspace, [stays, goes], reason).await);
            }
        };
        let running = match (running, self.wait) {
            (Some(running), Some(seconds)) => watch(console, running, seconds).await?,
            (running, _) => running,
        };
        let remark = running.as_ref().map(|of| goes_on(of.state).to_owned());
        Ok(Report::from(view([stays, goes], running.as_ref())).remarks(remark))
    }
}

/// The refusal that names the contact at fault, if it is one of them.
async fn why_not(
    console: &Console,
    workspace: WorkspaceId,
    both: [ContactId; 2],
    reason: MergeRefusal,
) -> Refusal {
    if let MergeRefusal::Unknown | MergeRefusal::AlreadyMerged = reason {
        for contact in both {
            if let Err(refusal) = known(console, workspace, &ContactRef::Id(contact)).await {
                return refusal;
            }
        }
    }
    Refusal::NotMerged(reason)
}

/// The merge once everything is moved, if that is within these seconds; `None` if it is over.
async fn watch(console: &Console, of: Merge, seconds: u64) -> Result<Option<Merge>> {
    let (store, mut poll) = (&console.store, Poll::within(seconds));
    loop {
        match store.running_merge(of.workspace_id, of.id).await? {
            Some(running) if running.state == MergeState::Moved => return Ok(Some(running)),
            Some(_) => {}
            None if store.merged_into(of.workspace_id, of.merged).await?.is_some() => return Ok(None),
            None => return Err(Refusal::MergeWithoutEffect),
        }
        if !poll.pause().await {
            return Err(Refusal::MergeNotDone { seconds });
        }
    }
}

fn goes_on(state: MergeState) -> &'static str {
    match state {
        MergeState::Asked | MergeState::Joined => "The service goes on by itself.",
        MergeState::Moved => "After two minutes the service moves what was stored meanwhile.",
    }
}

/// A merge while it runs, and after it.
fn view([stays, goes]: [ContactId; 2], running: Option<&Merge>) -> View {
    View::new()
        .text("contactId", "contact", stays)
        .text("mergedContactId", "merged", goes)
        .text("state", "state", running.map_or("DONE", |of| of.state.as_str()))
        .optional("askedAt", "requested", running.map(|of| of.asked_at))
}
