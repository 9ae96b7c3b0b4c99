//! What the provider says about lines and business accounts.
//!
//! Webhooks come late, repeated and in any order. So each fact has the time at which the provider said it, and the newer word
//! holds. Of two words at the same time the greater one holds, so every order of the same webhooks ends in the same state.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::ids::{BusinessAccountId, ChannelId, WorkspaceId};
use crate::raw::Raw;
use crate::settings::line::Line;
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the entities of events about lines and accounts.
const REPORTED: Uuid = Uuid::from_u128(0x5be1_0c93_7f24_4d86_a9d0_31f8_6c52_e7ab);

/// What is known of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineFact {
    /// The phone number as people read it.
    DisplayPhoneNumber,
    /// The name that people see.
    VerifiedName,
    /// Whether the provider accepts the name.
    NameStatus,
    /// How people rate the line.
    Quality,
    /// How many people the line may write to in a day.
    MessagingLimit,
    /// Whether the line works.
    Status,
}

words!(
    /// The names in the row of a line's state.
    LineFact {
        DisplayPhoneNumber: "displayPhoneNumber",
        VerifiedName: "verifiedName",
        NameStatus: "nameStatus",
        Quality: "quality",
        MessagingLimit: "messagingLimit",
        Status: "status",
    }
);

/// What is known of a business account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountFact {
    /// An [`AccountStatus`].
    Status,
    /// What the provider's review of the account decided.
    ReviewStatus,
    /// How many people the account may write to in a day.
    MessagingLimit,
}

words!(
    /// The names in the row of an account.
    AccountFact { Status: "status", ReviewStatus: "reviewStatus", MessagingLimit: "messagingLimit" }
);

/// What the provider lets an account do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountStatus {
    /// It may send.
    Active,
    /// It may not do everything.
    Restricted,
    /// It broke a rule of the provider.
    Violation,
    /// It may send nothing.
    Disabled,
    /// It was deleted.
    Deleted,
    /// It left the provider's platform.
    Offboarded,
}

words!(
    /// The values of the API field.
    AccountStatus {
        Active: "ACTIVE",
        Restricted: "RESTRICTED",
        Violation: "VIOLATION",
        Disabled: "DISABLED",
        Deleted: "DELETED",
        Offboarded: "OFFBOARDED",
    }
);

/// A fact in the provider's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reported {
    /// When the provider said it.
    pub at: Timestamp,
    /// What it said.
    pub value: String,
}

/// The last thing that happened, in the provider's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When it happened.
    pub at: Timestamp,
    /// The provider's name of it.
    pub event: String,
    /// All that the provider says of it.
    pub raw: Raw,
}

/// What an account may not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Restriction {
    /// The provider's name of it.
    pub kind: String,
    /// When it ends, if the provider says so.
    pub until: Option<Timestamp>,
    /// What to do about it.
    pub remediation: Option<String>,
}

/// All restrictions of an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Restrictions {
    /// When the provider listed them.
    pub at: Timestamp,
    /// The list.
    pub list: Vec<Restriction>,
}

/// The last reading of an account's templates and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// When it ended.
    pub at: Timestamp,
    /// Why it ended early. `None` if it read everything.
    pub error: Option<String>,
}

/// What the provider said at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News<Fact> {
    /// The moment.
    pub at: Timestamp,
    /// The facts.
    pub facts: Vec<(Fact, String)>,
    /// The restrictions of an account, if the news are about them.
    pub restrictions: Option<Vec<Restriction>>,
    /// What happened, and all that the provider says of it.
    pub notice: Option<(String, Raw)>,
}

/// The state of a line at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineState {
    /// The workspace that owns the line.
    pub workspace_id: WorkspaceId,
    /// The line.
    pub channel: ChannelId,
    /// The account at the provider that owns the line.
    pub business_account: BusinessAccountId,
    /// What is known.
    pub facts: BTreeMap<LineFact, Reported>,
    /// What happened last.
    pub notice: Option<Notice>,
    /// When the row was written.
    pub updated_at: Timestamp,
    /// Increases by one with each write.
    pub version: u64,
}

/// The state of a business account at the provider, for one of the workspaces that have a line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountReport {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The account.
    pub id: BusinessAccountId,
    /// What is known.
    pub facts: BTreeMap<AccountFact, Reported>,
    /// What the account may not do.
    pub restrictions: Option<Restrictions>,
    /// What happened last.
    pub notice: Option<Notice>,
    /// The last reading. `None` if there was none.
    pub synced: Option<Synced>,
    /// When the row was written.
    pub updated_at: Timestamp,
    /// Increases by one with each write.
    pub version: u64,
}

impl LineState {
    /// The state of a line of which nothing is known. It is not stored.
    pub fn unknown(
        workspace_id: WorkspaceId,
        channel: ChannelId,
        business_account: BusinessAccountId,
    ) -> Self {
        let (facts, notice, updated_at) = (BTreeMap::new(), None, Timestamp::from_millis(0));
        Self { workspace_id, channel, business_account, facts, notice, updated_at, version: 0 }
    }

    /// The state of a line, of which this is known.
    pub fn of(line: &Line, known: Option<Self>) -> Self {
        let unknown =
            || Self::unknown(line.workspace_id, line.channel.clone(), line.business_account.clone());
        known.unwrap_or_else(unknown)
    }

    /// The next version of the state. `None` if the news are not newer than what is known.
    pub fn told(&self, news: &News<LineFact>, now: Timestamp) -> Option<Self> {
        let mut next = Self { updated_at: now, version: self.version + 1, ..self.clone() };
        let is_new = take_facts(&mut next.facts, news) | take_notice(&mut next.notice, news);
        is_new.then_some(next)
    }

    /// The next version of the state after a list of the provider. `None` if it says what is known, or is older.
    pub fn listed(&self, at: Timestamp, facts: &[(LineFact, String)], now: Timestamp) -> Option<Self> {
        let differs = |(fact, value): &&(LineFact, String)| self.fact(*fact) != Some(value);
        let facts = facts.iter().filter(differs).cloned().collect();
        self.told(&News { at, facts, restrictions: None, notice: None }, now)
    }

    /// What is known of one thing.
    pub fn fact(&self, fact: LineFact) -> Option<&str> {
        self.facts.get(&fact).map(|said| said.value.as_str())
    }

    /// Whether the provider's display number of the line has these digits.
    pub fn has_digits(&self, digits: &str) -> bool {
        self.fact(LineFact::DisplayPhoneNumber).is_some_and(|number| digits_of(number) == digits)
    }

    /// What events about the line are about.
    pub fn entity(&self) -> Uuid {
        entity(self.workspace_id, "line", self.channel.as_str())
    }

    /// Whether a tenant sees a difference. A fact that is only confirmed is none.
    pub fn differs(&self, before: &Self) -> bool {
        !values(&self.facts).eq(values(&before.facts)) || self.notice != before.notice
    }
}

impl AccountReport {
    /// The state of an account of which nothing is known. It is not stored.
    pub fn unknown(workspace_id: WorkspaceId, id: BusinessAccountId) -> Self {
        let (facts, updated_at) = (BTreeMap::new(), Timestamp::from_millis(0));
        let (restrictions, notice, synced) = (None, None, None);
        Self { workspace_id, id, facts, restrictions, notice, synced, updated_at, version: 0 }
    }

    /// The next version of the state. `None` if the news are not newer than what is known.
    pub fn told(&self, news: &News<AccountFact>, now: Timestamp) -> Option<Self> {
        let mut next = Self { updated_at: now, version: self.version + 1, ..self.clone() };
        let is_new = take_facts(&mut next.facts, news) | take_notice(&mut next.notice, news);
        let listed = news.restrictions.clone().map(|list| Restrictions { at: news.at, list });
        let are_new = listed.is_some() && listed > next.restrictions;
        if are_new {
            next.restrictions = listed;
        }
        (is_new || are_new).then_some(next)
    }

    /// What is known of one thing.
    pub fn fact(&self, fact: AccountFact) -> Option<&str> {
        self.facts.get(&fact).map(|said| said.value.as_str())
    }

    /// The next version of the state after a reading of the account's templates and lines. `None` if a newer one is known, or this one.
    pub fn after_sync(&self, synced: Synced, now: Timestamp) -> Option<Self> {
        let is_newer = self.synced.as_ref().is_none_or(|known| known.at < synced.at);
        let next =
            || Self { synced: Some(synced), updated_at: now, version: self.version + 1, ..self.clone() };
        is_newer.then(next)
    }

    /// What the account may not do.
    pub fn restrictions(&self) -> &[Restriction] {
        self.restrictions.as_ref().map_or(&[], |restrictions| &restrictions.list)
    }

    /// What events about the account are about.
    pub fn entity(&self) -> Uuid {
        entity(self.workspace_id, "account", self.id.as_str())
    }

    /// Whether a tenant sees a difference. A fact that is only confirmed is none.
    pub fn differs(&self, before: &Self) -> bool {
        !values(&self.facts).eq(values(&before.facts))
            || self.restrictions() != before.restrictions()
            || self.notice != before.notice
    }
}

/// The digits of a phone number as people read it.
pub fn digits_of(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect()
}

fn values<Fact>(facts: &BTreeMap<Fact, Reported>) -> impl Iterator<Item = (&Fact, &str)> {
    facts.iter().map(|(fact, said)| (fact, said.value.as_str()))
}

fn take_facts<Fact: Copy + Ord>(known: &mut BTreeMap<Fact, Reported>, news: &News<Fact>) -> bool {
    let mut is_new = false;
    for (fact, value) in &news.facts {
        let said = Reported { at: news.at, value: value.clone() };
        if known.get(fact).is_none_or(|known| *known < said) {
            known.insert(*fact, said);
            is_new = true;
        }
    }
    is_new
}

fn take_notice<Fact>(known: &mut Option<Notice>, news: &News<Fact>) -> bool {
    let Some((event, raw)) = news.notice.clone() else { return false };
    let notice = Notice { at: news.at, event, raw };
    let key = |notice: &Notice| (notice.at, notice.event.clone(), notice.raw.as_str().to_owned());
    let is_new = known.as_ref().is_none_or(|known| key(known) < key(&notice));
    if is_new {
        *known = Some(notice);
    }
    is_new
}

fn entity(workspace: WorkspaceId, kind: &str, id: &str) -> Uuid {
    Uuid::new_v5(&REPORTED, format!("{workspace}|{kind}|{id}").as_bytes())
}

#[cfg(test)]
mod tests;
