//! Beyond the specification: the templates that messages can be.

mod get;
mod list;
mod preview;

use std::collections::BTreeSet;

use domain::{BusinessAccountId, ChannelId, Lines};

pub(crate) use get::get;
pub(crate) use list::list;
pub(crate) use preview::preview;

/// The accounts of the workspace's lines, or of one of them. A tenant sees the status of a template for these only.
fn accounts_of<'a>(lines: &'a Lines, channel: Option<&ChannelId>) -> Vec<&'a BusinessAccountId> {
    let wanted = lines.lines.iter().filter(|line| channel.is_none_or(|channel| line.channel == *channel));
    wanted.map(|line| &line.business_account).collect::<BTreeSet<_>>().into_iter().collect()
}
