//! Workspaces and their teams.

use std::time::Duration;

use uuid::Uuid;

use crate::ids::{ChannelId, TeamId, UserId, WorkspaceId};
use crate::settings::names::{NameTaken, holder};
use crate::settings::onboarding::Onboarding;
use crate::settings::user::{User, UserStatus};
use crate::text::{Unfit, operator_name};
use crate::time::Timestamp;
use crate::words::words;

/// The shard of a newest-first list for a new item with this id. `shards` is
/// [`Workspace::list_shards_write`]. (Version 4 ids are random, so the items spread evenly.)
pub fn list_shard(id: &Uuid, shards: u8) -> u8 {
    // The remainder is smaller than the number of shards, so it fits.
    (id.as_u128() % u128::from(shards.max(1))) as u8
}

/// A tenant's workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The workspace's id.
    pub id: WorkspaceId,
    /// The name that operators see, 1 to 256 characters.
    pub name: String,
    /// When the workspace was created.
    pub created_at: Timestamp,
    /// The number of shards from which newest-first lists are read, 1 to 16. Operators raise it before
    /// `list_shards_write`.
    pub list_shards_read: u8,
    /// The number of shards over which new rows of newest-first lists are spread, at most `list_shards_read`.
    pub list_shards_write: u8,
    /// The line that is used if neither the request nor the brand gives one.
    pub default_line: Option<ChannelId>,
    /// The templates that start the workspace's conversations.
    pub onboarding: Onboarding,
    /// Whether the service works for the workspace.
    pub state: WorkspaceState,
    /// Whether the tenant may manage the workspace by the API.
    pub self_service: SelfService,
    /// How many requests a second the keys that its tenants make may allow together, 1 to [`Workspace::MAX_KEY_RATE`].
    pub key_rate: u32,
    /// Increases by one with each change.
    pub version: u64,
}

impl Workspace {
    /// How long work of a disabled workspace waits before a worker looks again whether it is enabled.
    pub const LOOKS_AGAIN_AFTER: Duration = Duration::from_mins(15);

    /// The key rate of a new workspace.
    pub const DEFAULT_KEY_RATE: u32 = 200;
    /// The greatest key rate.
    pub const MAX_KEY_RATE: u32 = 10_000;

    /// A new workspace. Its lists have one shard.
    pub fn new(id: WorkspaceId, name: &str, now: Timestamp) -> Result<Self, Unfit> {
        let name = operator_name(name)?;
        Ok(Self {
            id,
            name,
            created_at: now,
            list_shards_read: 1,
            list_shards_write: 1,
            default_line: None,
            onboarding: Onboarding::default(),
            state: WorkspaceState::Enabled,
            self_service: SelfService::On,
            key_rate: Self::DEFAULT_KEY_RATE,
            version: 1,
        })
    }

    /// The workspace with this name. `None` if it has the same name already.
    pub fn renamed(&self, name: &str) -> Result<Option<Self>, Unfit> {
        let (name, version) = (operator_name(name)?, self.version + 1);
        Ok((self.name != name).then(|| Self { name, version, ..self.clone() }))
    }

    /// The disabled workspace. `None` if it is disabled already; the time since when it is disabled stays.
    pub fn disabled(&self, now: Timestamp) -> Option<Self> {
        let (state, version) = (WorkspaceState::Disabled { since: now }, self.version + 1);
        (!self.state.is_disabled()).then(|| Self { state, version, ..self.clone() })
    }

    /// The enabled workspace. `None` if it is enabled already.
    pub fn enabled(&self) -> Option<Self> {
        let (state, version) = (WorkspaceState::Enabled, self.version + 1);
        self.state.is_disabled().then(|| Self { state, version, ..self.clone() })
    }

    /// The workspace with self-service on or off. `None` if it is so already.
    pub fn with_self_service(&self, self_service: SelfService) -> Option<Self> {
        let version = self.version + 1;
        (self.self_service != self_service).then(|| Self { self_service, version, ..self.clone() })
    }

    /// The workspace with this key rate. `None` if it has the same rate already.
    pub fn with_key_rate(&self, key_rate: u32) -> Result<Option<Self>, Unfit> {
        if !(1..=Self::MAX_KEY_RATE).contains(&key_rate) {
            return Err(Unfit::Value { reason: "the rate must be 1 to 10000 requests per second" });
        }
        let version = self.version + 1;
        Ok((self.key_rate != key_rate).then(|| Self { key_rate, version, ..self.clone() }))
    }

    /// What the workspace admits.
    pub fn access(&self) -> WorkspaceAccess {
        WorkspaceAccess { state: self.state, self_service: self.self_service }
    }

    /// The workspace after a line was added. The line becomes the default if there is none yet or if
    /// `as_default` is set.
    pub fn with_line(&self, channel: &ChannelId, as_default: bool) -> Self {
        let default = self.default_line.as_ref().filter(|_| !as_default).unwrap_or(channel);
        Self { default_line: Some(default.clone()), version: self.version + 1, ..self.clone() }
    }

    /// The workspace with this default line. `None` if it is the default already.
    pub fn with_default_line(&self, channel: &ChannelId) -> Option<Self> {
        (self.default_line.as_ref() != Some(channel)).then(|| self.with_line(channel, true))
    }

    /// The workspace after a line was deleted. If that was the default line, there is no default line.
    pub fn without_line(&self, channel: &ChannelId) -> Self {
        let default_line = self.default_line.clone().filter(|default| default != channel);
        Self { default_line, version: self.version + 1, ..self.clone() }
    }

    /// The workspace with this onboarding. `None` if it has the same onboarding already.
    pub fn with_onboarding(&self, onboarding: Onboarding) -> Option<Self> {
        let version = self.version + 1;
        (self.onboarding != onboarding).then(|| Self { onboarding, version, ..self.clone() })
    }
}

/// Whether the service works for a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceState {
    /// The service works for the workspace.
    Enabled,
    /// API keys and lead capture refuse, and nothing is sent. What waits is kept.
    Disabled {
        /// When an operator disabled the workspace.
        since: Timestamp,
    },
}

impl WorkspaceState {
    /// Whether the workspace is disabled.
    pub fn is_disabled(self) -> bool {
        matches!(self, Self::Disabled { .. })
    }

    /// `ENABLED` or `DISABLED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "ENABLED",
            Self::Disabled { .. } => "DISABLED",
        }
    }
}

/// Whether a tenant may manage its workspace by the API: its keys, and later its other settings. If not, every key of the
/// workspace counts as one without the scopes for it ([`Scope::manages`](crate::Scope::manages)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelfService {
    /// It may.
    #[default]
    On,
    /// Only the operator manages the workspace.
    Off,
}

words!(
    /// The names of the two.
    SelfService { On: "ON", Off: "OFF" }
);

/// What a workspace admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkspaceAccess {
    /// Whether the service works for it.
    pub state: WorkspaceState,
    /// Whether its tenant may manage it.
    pub self_service: SelfService,
}

impl WorkspaceAccess {
    /// The access of a workspace without a row: nothing of it exists that could be used.
    pub const OPEN: Self = Self { state: WorkspaceState::Enabled, self_service: SelfService::On };
}

/// A change of a team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamChange {
    /// The new name, as [`operator_name`] returned it.
    pub name: Option<String>,
    /// The users who become members.
    pub add: Vec<UserId>,
    /// The users who are members no longer.
    pub remove: Vec<UserId>,
}

/// A team of internal users, for round-robin assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// The team's id.
    pub id: TeamId,
    /// The workspace the team belongs to.
    pub workspace_id: WorkspaceId,
    /// The name that operators see, 1 to 256 characters.
    pub name: String,
    /// The members in the order they joined, at most [`Team::MAX_MEMBERS`], without duplicates.
    pub members: Vec<UserId>,
    /// When the team was created.
    pub created_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

impl Team {
    /// The greatest number of members.
    pub const MAX_MEMBERS: usize = 200;

    /// A new team without members.
    pub fn new(id: TeamId, workspace_id: WorkspaceId, name: &str, now: Timestamp) -> Result<Self, Unfit> {
        let name = operator_name(name)?;
        Ok(Self { id, workspace_id, name, members: vec![], created_at: now, version: 1 })
    }

    /// The team with this name. `None` if it has the name already.
    pub fn renamed(&self, name: &str) -> Result<Option<Self>, Unfit> {
        let name = operator_name(name)?;
        let version = self.version + 1;
        Ok((self.name != name).then(|| Self { name, version, ..self.clone() }))
    }

    /// Checks that none of the workspace's other teams has this team's name.
    pub fn check_name(&self, of_workspace: &[Self]) -> Result<(), NameTaken> {
        let others = of_workspace.iter().filter(|other| other.id != self.id);
        let named = others.map(|other| (other.id, other.name.as_str()));
        holder(&self.name, named).map_or(Ok(()), |id| Err(NameTaken::Team(id)))
    }

    /// The team with these users added, without duplicates. `None` if all of them are members already.
    pub fn with(&self, users: &[UserId]) -> Result<Option<Self>, TeamFull> {
        let mut members = self.members.clone();
        for user in users {
            if !members.contains(user) {
                members.push(*user);
            }
        }
        if members.len() > Self::MAX_MEMBERS {
            return Err(TeamFull);
        }
        Ok(self.changed_to(members))
    }

    /// The team without these users. `None` if none of them is a member.
    pub fn without(&self, users: &[UserId]) -> Option<Self> {
        let members = self.members.iter().copied().filter(|member| !users.contains(member)).collect();
        self.changed_to(members)
    }

    /// The team with this change: members are added first, then removed. `None` if the change has no effect.
    pub fn changed(&self, change: &TeamChange) -> Result<Option<Self>, TeamFull> {
        let added = self.with(&change.add)?.unwrap_or_else(|| self.clone());
        let mut next = added.without(&change.remove).unwrap_or(added);
        if let Some(name) = &change.name {
            next.name.clone_from(name);
        }
        let is_changed = next.name != self.name || next.members != self.members;
        Ok(is_changed.then(|| Self { version: self.version + 1, ..next }))
    }

    /// The names of the fields in which the next version differs, as requests name them.
    pub fn differences(&self, next: &Self) -> Vec<&'static str> {
        let fields = [("name", self.name != next.name), ("members", self.members != next.members)];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// The active member among `users` whose turn it is, in the order they joined; `None` if no member is
    /// active. Turn numbers start at 0 and each is used once. A turn whose request fails skips its user.
    pub fn whose_turn<'a>(&self, users: &'a [User], turn: u64) -> Option<&'a User> {
        let member = |id: &UserId| users.iter().find(|user| user.id == *id);
        let active = self.members.iter().filter_map(member).filter(|user| user.status == UserStatus::Active);
        let active: Vec<&User> = active.collect();
        let at = turn.checked_rem(active.len() as u64)?;
        active.get(usize::try_from(at).ok()?).copied()
    }

    fn changed_to(&self, members: Vec<UserId>) -> Option<Self> {
        let version = self.version + 1;
        (members != self.members).then(|| Self { members, version, ..self.clone() })
    }
}

/// The team would have more than [`Team::MAX_MEMBERS`] members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a team has at most {} members", Team::MAX_MEMBERS)]
pub struct TeamFull;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::onboarding::Override;
    use crate::text::Email;

    fn user(n: u128) -> UserId {
        UserId::from_uuid(Uuid::from_u128(n))
    }

    fn team() -> Team {
        let id = Uuid::nil();
        Team::new(TeamId::from_uuid(id), WorkspaceId::from_uuid(id), "Sales", Timestamp::from_millis(0))
            .unwrap()
    }

    #[test]
    fn members_keep_the_order_they_joined_in_and_appear_once() {
        let three = team().with(&[user(3), user(1), user(3), user(2)]).unwrap().unwrap();
        assert_eq!(three.members, [user(3), user(1), user(2)]);
        assert_eq!(three.version, 2);
        assert_eq!(three.with(&[user(1)]), Ok(None));
        assert_eq!(three.without(&[user(1)]).unwrap().members, [user(3), user(2)]);
        assert_eq!(three.without(&[user(9)]), None);
    }

    #[test]
    fn a_team_takes_200_members_and_no_more() {
        let all: Vec<UserId> = (1..=201).map(user).collect();
        assert_eq!(team().with(&all[..200]).unwrap().unwrap().members.len(), 200);
        assert_eq!(team().with(&all), Err(TeamFull));
    }

    #[test]
    fn a_change_of_a_team_is_one_version_and_names_its_fields() {
        let before = team().with(&[user(1), user(2)]).unwrap().unwrap();
        let change =
            TeamChange { name: Some("Desk".to_owned()), add: vec![user(3)], remove: vec![user(1), user(3)] };
        let after = before.changed(&change).unwrap().unwrap();
        assert_eq!((after.name.as_str(), after.members.as_slice()), ("Desk", &[user(2)][..]));
        assert_eq!(
            (after.version, before.differences(&after)),
            (before.version + 1, vec!["name", "members"])
        );
        assert_eq!(after.changed(&change), Ok(None));
        assert_eq!(after.changed(&TeamChange::default()), Ok(None));
        let too_many = TeamChange { add: (1..=201).map(user).collect(), ..TeamChange::default() };
        assert_eq!(after.changed(&too_many), Err(TeamFull));
    }

    #[test]
    fn turns_rotate_through_the_active_members_in_the_order_they_joined() {
        let someone = |n: u128, status: UserStatus| {
            let email = Email::parse(&format!("u{n}@x.io")).unwrap();
            User { status, ..User::new(user(n), team().workspace_id, email, Timestamp::from_millis(0)) }
        };
        let team = team().with(&[user(3), user(1), user(4), user(2)]).unwrap().unwrap();
        let mut users = vec![
            someone(1, UserStatus::Disabled),
            someone(2, UserStatus::Active),
            someone(3, UserStatus::Active),
            someone(4, UserStatus::Active),
            someone(9, UserStatus::Active),
        ];
        let turns = |users: &[User]| {
            [0, 1, 2, 3, 4, u64::MAX].map(|turn| team.whose_turn(users, turn).map(|user| user.id))
        };
        assert_eq!(turns(&users), [3, 4, 2, 3, 4, 3].map(|n| Some(user(n))));
        // The rotation also skips a member who is no longer a user.
        users.remove(3);
        assert_eq!(turns(&users), [3, 2, 3, 2, 3, 2].map(|n| Some(user(n))));
        users.truncate(1);
        assert_eq!(turns(&users), [None; 6]);
    }

    #[test]
    fn new_items_spread_over_the_shards_that_are_written() {
        let shards = |shards: u8| [0, 1, 2, 7, u128::MAX].map(|id| list_shard(&Uuid::from_u128(id), shards));
        assert_eq!(shards(1), [0; 5]);
        assert_eq!(shards(4), [0, 1, 2, 3, 3]);
        assert_eq!(shards(0), [0; 5]);
    }

    #[test]
    fn the_first_line_is_the_workspaces_default_and_a_later_one_only_on_request() {
        let line = |id: &str| ChannelId::parse(id).unwrap();
        let id = WorkspaceId::from_uuid(Uuid::nil());
        let none = Workspace::new(id, "Aster", Timestamp::from_millis(0)).unwrap();
        let first = none.with_line(&line("1"), false);
        assert_eq!((first.default_line.clone(), first.version), (Some(line("1")), 2));
        let second = first.with_line(&line("2"), false);
        assert_eq!((second.default_line.clone(), second.version), (Some(line("1")), 3));
        assert_eq!(first.with_line(&line("2"), true).default_line, Some(line("2")));
        assert_eq!(second.with_default_line(&line("1")), None);
        let changed = Workspace { default_line: Some(line("2")), version: 4, ..second.clone() };
        assert_eq!(second.with_default_line(&line("2")), Some(changed));
    }

    #[test]
    fn a_deleted_line_is_the_default_no_longer_and_another_default_stays() {
        let line = |id: &str| ChannelId::parse(id).unwrap();
        let id = WorkspaceId::from_uuid(Uuid::nil());
        let seen =
            Workspace::new(id, "Aster", Timestamp::from_millis(0)).unwrap().with_line(&line("1"), false);
        let none = Workspace { default_line: None, version: 3, ..seen.clone() };
        assert_eq!(seen.without_line(&line("1")), none);
        assert_eq!(seen.without_line(&line("2")), Workspace { version: 3, ..seen });
    }

    #[test]
    fn teams_have_different_names_and_a_repeated_rename_changes_nothing() {
        let other = |n, name: &str| Team {
            id: TeamId::from_uuid(Uuid::from_u128(n)),
            name: name.to_owned(),
            ..team()
        };
        let all = [other(1, "Sales"), other(2, "Support")];
        assert_eq!(other(3, " SALES").check_name(&all), Err(NameTaken::Team(all[0].id)));
        assert_eq!(other(2, "sales").check_name(&all), Err(NameTaken::Team(all[0].id)));
        assert_eq!(other(1, "sales").check_name(&all), Ok(()));
        assert_eq!(other(3, "Sales 2").check_name(&all), Ok(()));

        let renamed = all[0].renamed("Desk").unwrap().unwrap();
        assert_eq!(renamed, Team { name: "Desk".to_owned(), version: 2, ..all[0].clone() });
        assert_eq!(renamed.renamed("Desk"), Ok(None));
        assert!(renamed.renamed(" ").is_err());
    }

    #[test]
    fn setting_the_same_onboarding_again_changes_nothing() {
        let id = WorkspaceId::from_uuid(Uuid::nil());
        let plain = Workspace::new(id, "Aster", Timestamp::from_millis(0)).unwrap();
        assert_eq!(plain.with_onboarding(Onboarding::default()), None);
        let onboarding = Onboarding { overriding: Override::FirstOnly, sequence: vec![] };
        let set_up = plain.with_onboarding(onboarding.clone()).unwrap();
        assert_eq!(set_up, Workspace { onboarding, version: 2, ..plain });
    }

    #[test]
    fn a_workspace_is_renamed_disabled_and_enabled_and_a_repeat_changes_nothing() {
        let id = WorkspaceId::from_uuid(Uuid::nil());
        let at = Timestamp::from_millis;
        let first = Workspace::new(id, "Aster", at(0)).unwrap();
        assert_eq!((first.renamed("Aster"), first.enabled()), (Ok(None), None));
        assert!(first.renamed(" ").is_err());
        let renamed = first.renamed("Aster Travel").unwrap().unwrap();
        assert_eq!(renamed, Workspace { name: "Aster Travel".to_owned(), version: 2, ..first });
        let disabled = renamed.disabled(at(5)).unwrap();
        let state = WorkspaceState::Disabled { since: at(5) };
        assert_eq!(disabled, Workspace { state, version: 3, ..renamed.clone() });
        assert_eq!([renamed.state, state].map(WorkspaceState::as_str), ["ENABLED", "DISABLED"]);
        assert_eq!(disabled.disabled(at(9)), None, "the first time counts");
        assert_eq!(disabled.enabled(), Some(Workspace { version: 4, ..renamed }));
    }

    #[test]
    fn a_name_for_operators_is_neither_blank_nor_over_256_characters() {
        assert!(operator_name(&"é".repeat(256)).is_ok());
        for bad in ["", " ", "a\u{7}", &"x".repeat(257)] {
            assert!(operator_name(bad).is_err(), "{bad:?}");
        }
    }
}
