//! What uses a setting of a workspace. A setting that is used cannot be deleted.
//!
//! The rules need only a few rows. Conversations are not indexed by line or brand, and requests name teams and
//! brands by id, so such uses are not known here.

use crate::conversation::{Conversation, ConversationStatus};
use crate::ids::{BrandId, ChannelId, ConversationId};
use crate::lead::capture::Capture;
use crate::settings::line::{Brand, Line, Lines};
use crate::settings::template::{Sendable, Template, TemplateScope};
use crate::settings::workspace::{Team, Workspace};

/// What uses a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsedBy {
    /// A line of the brand.
    #[error("line {0:?}")]
    Line(ChannelId),
    /// A brand that sends from the line and has other lines.
    #[error("brand {0:?}, which sends from it and has other lines")]
    Brand(BrandId),
    /// The workspace, whose default line it is and which has other lines.
    #[error("the workspace, whose default line it is and which has other lines")]
    Workspace,
    /// Conversations that are not released.
    #[error("conversation {newest}{}", and_others(*.others))]
    Conversations {
        /// The newest of them.
        newest: ConversationId,
        /// The number of the others that were found.
        others: usize,
    },
    /// The onboarding sequence.
    #[error("the onboarding")]
    Onboarding,
    /// Lead capture.
    #[error("lead capture")]
    Capture,
    /// The number of the team's members.
    #[error("{}", counted(*.0, "member"))]
    Members(usize),
    /// The number of accounts for which the platform's template is approved.
    #[error("{} for which it is approved", counted(*.0, "account"))]
    Accounts(usize),
}

/// What uses a brand: its lines, and lead capture that has it as the default brand.
pub fn of_brand(brand: &Brand, lines: &Lines, capture: Option<&Capture>) -> Vec<UsedBy> {
    let of_brand = lines.lines.iter().filter(|line| line.brand == brand.id);
    let mut uses: Vec<UsedBy> = of_brand.map(|line| UsedBy::Line(line.channel.clone())).collect();
    if capture.is_some_and(|capture| capture.brand.as_ref() == Some(&brand.id)) {
        uses.push(UsedBy::Capture);
    }
    uses
}

/// What uses a line: its brand or the workspace, if they would have to send from another line; lead capture
/// that is enabled and would have no line; and those of the `newest` conversations that are not released. The
/// last line of a brand or a workspace can be deleted.
pub fn of_line(
    line: &Line,
    lines: &Lines,
    capture: Option<&Capture>,
    newest: &[Conversation],
) -> Vec<UsedBy> {
    let others = || lines.lines.iter().filter(|other| other.channel != line.channel);
    let mut uses = vec![];
    if lines.default.as_ref() == Some(&line.channel) && others().next().is_some() {
        uses.push(UsedBy::Workspace);
    }
    let sending = lines.brands.iter().filter(|brand| brand.line.as_ref() == Some(&line.channel));
    let with_others = sending.filter(|brand| others().any(|other| other.brand == brand.id));
    uses.extend(with_others.map(|brand| UsedBy::Brand(brand.id.clone())));
    if capture.is_some_and(|capture| sends_leads_from(capture, line, lines)) {
        uses.push(UsedBy::Capture);
    }
    let mut kept = newest.iter().filter(|conversation| keeps(conversation, line));
    uses.extend(kept.next().map(|one| UsedBy::Conversations { newest: one.id, others: kept.count() }));
    uses
}

/// Whether leads are answered from this line: those of the default brand, or of any brand if there is no default.
fn sends_leads_from(capture: &Capture, line: &Line, lines: &Lines) -> bool {
    let of_capture = |brand: &&Brand| capture.brand.as_ref().is_none_or(|named| *named == brand.id);
    let mut brands = lines.brands.iter().filter(of_capture);
    let sends = |brand: &Brand| {
        lines.resolve(None, Some(&brand.id)).is_ok_and(|(resolved, _)| resolved.channel == line.channel)
    };
    capture.enabled && brands.any(sends)
}

fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn and_others(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" and {others} more") }
}

fn keeps(conversation: &Conversation, line: &Line) -> bool {
    conversation.status != ConversationStatus::Released
        && conversation.externals.iter().any(|external| external.channel == line.channel)
}

/// What uses a workspace's template: its onboarding and its lead capture. A template of the platform is used as
/// long as it is approved for an account: without an approval, no workspace can send it.
pub fn of_template(
    template: &Template,
    workspace: Option<&Workspace>,
    capture: Option<&Capture>,
) -> Vec<UsedBy> {
    let mut uses = vec![];
    let accounts = template.accounts(Sendable::Now).count();
    if template.scope == TemplateScope::Platform && accounts > 0 {
        uses.push(UsedBy::Accounts(accounts));
    }
    if workspace.is_some_and(|workspace| workspace.onboarding.sequence.contains(&template.id)) {
        uses.push(UsedBy::Onboarding);
    }
    if capture.is_some_and(|capture| capture.template == Some(template.id)) {
        uses.push(UsedBy::Capture);
    }
    uses
}

/// What uses a team: its members.
pub fn of_team(team: &Team) -> Vec<UsedBy> {
    if team.members.is_empty() { vec![] } else { vec![UsedBy::Members(team.members.len())] }
}

#[cfg(test)]
mod tests;
