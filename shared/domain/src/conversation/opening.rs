//! The creation of a conversation and of the items that are created with it.

use crate::contact::Contact;
use crate::conversation::participant::{External, Internal};
use crate::conversation::people::{ExternalInput, People};
use crate::conversation::plan::OnboardingPlan;
use crate::conversation::{Conversation, ConversationName, ConversationStatus};
use crate::ids::{ConversationId, TeamId};
use crate::refused::Refused;
use crate::settings::line::Lines;
use crate::settings::line::Reached;
use crate::settings::template::{Requested, TemplateContent};
use crate::settings::user::{User, UserRef};
use crate::settings::workspace::{Team, Workspace, list_shard};
use crate::time::Timestamp;

/// A request to create a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationCreate {
    /// The customers, 1 to [`Conversation::MAX_EXTERNALS`]. A repeated one counts once.
    pub externals: Vec<ExternalInput>,
    /// The agents, up to [`Conversation::MAX_INTERNALS`]. A repeated one counts once.
    pub internals: Vec<UserRef>,
    /// The title.
    pub name: Option<ConversationName>,
    /// The status. If it is absent, the conversation is ACTIVE, or NOT_ASSIGNED_TO_HUMAN if the team has no
    /// member to assign.
    pub status: Option<ConversationStatus>,
    /// The team whose next member becomes the assignee.
    pub team: Option<TeamId>,
    /// Templates that replace the workspace's, up to [`crate::Onboarding::MAX`].
    pub templates: Option<Vec<Requested>>,
}

/// The first participants of a conversation, before the team's next member is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub(super) externals: Vec<External>,
    pub(super) internals: Vec<Internal>,
    pub(super) new_contacts: Vec<Contact>,
}

impl Party {
    /// The lines that reach the customers.
    pub fn reached(&self, lines: &Lines) -> Vec<Reached> {
        let found = self.externals.iter().filter_map(|external| lines.line(&external.channel));
        found.map(Reached::from).collect()
    }
}

/// A new conversation and the items that are created with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The conversation.
    pub conversation: Conversation,
    /// New contacts for customers who have none.
    pub new_contacts: Vec<Contact>,
    /// The templates that are sent first, if there are any.
    pub plan: Option<OnboardingPlan>,
}

impl ConversationCreate {
    /// The first participants. `team` is the workspace's team with the requested id, if there is one.
    ///
    /// Errors, in this order: a team together with internals (0607); for each customer, an unknown id (0606),
    /// then the line (0605); an unknown or disabled user (0606); an unknown team (0607).
    pub fn party(&self, people: &People<'_>, team: Option<&Team>) -> Result<Party, Refused> {
        if let Some(team) = self.team.filter(|_| !self.internals.is_empty()) {
            return Err(Refused::TeamWithInternals { team });
        }
        let (mut externals, mut internals) = (vec![], vec![]);
        let new_contacts = people.join_externals(&mut externals, &self.externals)?;
        people.join_internals(&mut internals, &self.internals)?;
        match (self.team, team) {
            (Some(named), None) => Err(Refused::UnknownTeam { team: named }),
            _ => Ok(Party { externals, internals, new_contacts }),
        }
    }

    /// The conversation of these participants, with the templates that are sent first, in order. `assignee`
    /// is the team's next member.
    pub fn open(
        &self,
        id: ConversationId,
        workspace: &Workspace,
        party: Party,
        assignee: Option<&User>,
        steps: Vec<TemplateContent>,
        now: Timestamp,
    ) -> Opening {
        let Party { externals, mut internals, new_contacts } = party;
        internals.extend(assignee.map(|user| Internal {
            user: user.id,
            shown: UserRef::Email(user.email.clone()),
            joined_at: now,
            last_seen_at: None,
        }));
        let nobody_to_take_it = self.team.is_some() && assignee.is_none();
        let otherwise = if nobody_to_take_it {
            ConversationStatus::NotAssignedToHuman
        } else {
            ConversationStatus::Active
        };
        let conversation = Conversation {
            name: self.name.clone(),
            status: self.status.unwrap_or(otherwise),
            externals,
            internals,
            list_shard: list_shard(id.as_uuid(), workspace.list_shards_write),
            ..Conversation::blank(id, workspace.id, now)
        };
        let plan = (!steps.is_empty()).then(|| OnboardingPlan {
            workspace_id: workspace.id,
            conversation: id,
            recipients: conversation.recipients(),
            steps,
            done: 0,
            created_at: now,
        });
        Opening { conversation, new_contacts, plan }
    }
}
