//! Conversations: who talks with whom, and how it stands.

use std::fmt;
use std::time::Duration;

use crate::contact::Contact;
use crate::ids::{ContactId, ConversationId, Ids, TeamId, UserId, WorkspaceId};
use crate::line::{BrandId, ChannelId, Lines};
use crate::message::Recipient;
use crate::onboarding::{OnboardingPlan, Reached, Requested};
use crate::patch::Patch;
use crate::refused::Refused;
use crate::text::{Cellphone, Email, Unfit, within};
use crate::time::Timestamp;
use crate::user::{User, UserRef, UserStatus};
use crate::workspace::{Team, Workspace, list_shard};

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// Its title.
    pub name: Option<ConversationName>,
    /// How it stands.
    pub status: ConversationStatus,
    /// The customers who take part, 1 to [`Conversation::MAX_EXTERNALS`], each once, in the order they joined.
    pub externals: Vec<External>,
    /// The agents who take part, up to [`Conversation::MAX_INTERNALS`], each once, in the order they joined.
    pub internals: Vec<Internal>,
    /// When it was made; its place in lists, which never changes.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The shard of the newest-first list of all conversations in which it stands; never changes
    /// ([`crate::workspace::list_shard`]).
    pub list_shard: u8,
    /// Grows by one with each change.
    pub version: u64,
}

impl Conversation {
    /// The greatest number of external participants.
    pub const MAX_EXTERNALS: usize = 10;
    /// The greatest number of internal participants.
    pub const MAX_INTERNALS: usize = 20;

    /// The customers to whom what is said now goes, each by their line.
    pub fn recipients(&self) -> Vec<Recipient> {
        let to =
            |external: &External| Recipient { contact: external.contact, channel: external.channel.clone() };
        self.externals.iter().map(to).collect()
    }

    /// What the first interaction makes of it, a message from or to a customer: a GHOST turns ACTIVE. Onboarding
    /// templates and internal notes are none.
    pub fn at_interaction(&self, now: Timestamp) -> Option<Self> {
        let visible = Self { status: ConversationStatus::Active, ..self.clone() };
        (self.status == ConversationStatus::Ghost).then(|| visible.next_of(self, now))
    }

    /// The conversation after an update, with the contacts that are made with it; `None` when the update changes
    /// nothing. `people` are those whom the update names.
    ///
    /// People are compared by who they are. To add somebody who takes part and to remove somebody who does not changes
    /// nothing, whatever else is said of them, so that an update can be repeated; who is named in both lists takes
    /// part afterwards.
    pub fn apply(&self, update: &ConversationUpdate, people: &People<'_>) -> Result<Option<Change>, Refused> {
        let staying: Vec<ContactId> =
            update.add_externals.iter().filter_map(|input| people.known.contact(&input.named)).collect();
        let leaving = update.remove_externals.iter().filter_map(|named| self.contact_named(named, people));
        let leaving: Vec<ContactId> = leaving.filter(|contact| !staying.contains(contact)).collect();
        let mut externals = self.externals.clone();
        externals.retain(|external| !leaving.contains(&external.contact));
        let strangers = people.join_externals(&mut externals, &update.add_externals)?;

        let users = |named: &[UserRef]| -> Vec<UserId> {
            named.iter().filter_map(|named| people.known.user(named)).map(|user| user.id).collect()
        };
        let (staying, leaving) = (users(&update.add_internals), users(&update.remove_internals));
        let mut internals = self.internals.clone();
        internals.retain(|internal| staying.contains(&internal.user) || !leaving.contains(&internal.user));
        people.join_internals(&mut internals, &update.add_internals)?;

        let name = update.name.applied_to(&self.name);
        let status = update.status.unwrap_or(self.status);
        let next = Self { name, status, externals, internals, ..self.clone() };
        if next == *self {
            return Ok(None);
        }
        next.check_participants()?;
        Ok(Some(Change { conversation: next.next_of(self, people.now), strangers }))
    }

    /// The contact so named. A participant shown by an address that is nobody's any more is still found by it.
    fn contact_named(&self, named: &ContactRef, people: &People<'_>) -> Option<ContactId> {
        let shown = || self.externals.iter().find(|external| external.shown.same_as(named));
        people.known.contact(named).or_else(|| shown().map(|external| external.contact))
    }

    fn check_participants(&self) -> Result<(), Refused> {
        if self.externals.is_empty() {
            return Err(Refused::NoExternalLeft);
        }
        for (side, there, max) in [
            ("externals", self.externals.len(), Self::MAX_EXTERNALS),
            ("internals", self.internals.len(), Self::MAX_INTERNALS),
        ] {
            if there > max {
                return Err(Refused::TooManyParticipants { side, max });
            }
        }
        Ok(())
    }

    fn next_of(self, before: &Self, now: Timestamp) -> Self {
        // Receivers order what they get by it: it never stands still nor goes back, whatever the clocks do.
        let updated_at = now.max(before.updated_at.plus(Duration::from_millis(1)));
        Self { updated_at, version: before.version + 1, ..self }
    }
}

/// What a request to make a conversation asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationCreate {
    /// Customers, 1 to [`Conversation::MAX_EXTERNALS`]; a repeat counts once.
    pub externals: Vec<ExternalInput>,
    /// Agents, up to [`Conversation::MAX_INTERNALS`]; a repeat counts once.
    pub internals: Vec<UserRef>,
    /// The title.
    pub name: Option<ConversationName>,
    /// The status; otherwise the conversation is ACTIVE, or NOT_ASSIGNED_TO_HUMAN where the team has nobody.
    pub status: Option<ConversationStatus>,
    /// The team to whose next member it is assigned.
    pub team: Option<TeamId>,
    /// Templates in place of the workspace's, up to [`crate::Onboarding::MAX`].
    pub templates: Option<Vec<Requested>>,
}

/// A partial update: what is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationUpdate {
    /// The title.
    pub name: Patch<ConversationName>,
    /// The status.
    pub status: Option<ConversationStatus>,
    /// Customers who are to take part.
    pub add_externals: Vec<ExternalInput>,
    /// Customers who are not.
    pub remove_externals: Vec<ContactRef>,
    /// Agents who are to take part.
    pub add_internals: Vec<UserRef>,
    /// Agents who are not.
    pub remove_internals: Vec<UserRef>,
}

/// A customer as a request names them, and how they are to be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalInput {
    /// The customer.
    pub named: ContactRef,
    /// The line.
    pub channel: Option<ChannelId>,
    /// The brand.
    pub brand: Option<BrandId>,
}

/// Whom the workspace has of those that a request names.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The contacts, each as it was named.
    pub contacts: Vec<(ContactRef, ContactId)>,
    /// The users, disabled ones included.
    pub users: Vec<User>,
}

impl Known {
    fn contact(&self, named: &ContactRef) -> Option<ContactId> {
        self.contacts.iter().find(|(known, _)| known.same_as(named)).map(|(_, contact)| *contact)
    }

    fn user(&self, named: &UserRef) -> Option<&User> {
        self.users.iter().find(|user| named.names(user))
    }
}

/// By what it is decided who may join a conversation, and how.
#[derive(Clone, Copy)]
pub struct People<'a> {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Whom it has of those that the request names.
    pub known: &'a Known,
    /// Its lines and brands.
    pub lines: &'a Lines,
    /// Where the ids of new contacts come from.
    pub ids: &'a dyn Ids,
    /// The present moment.
    pub now: Timestamp,
}

impl People<'_> {
    /// Lets in those who do not take part yet. What is answered are the contacts that are to be made, of numbers and
    /// addresses that are nobody's.
    fn join_externals(
        &self,
        externals: &mut Vec<External>,
        inputs: &[ExternalInput],
    ) -> Result<Vec<Contact>, Refused> {
        let mut strangers: Vec<Contact> = vec![];
        for input in inputs {
            let met = || strangers.iter().find(|stranger| input.named.is_identity_of(stranger));
            let known = self.known.contact(&input.named).or_else(|| met().map(|stranger| stranger.id));
            if known.is_some_and(|known| externals.iter().any(|external| external.contact == known)) {
                continue;
            }
            let contact = match known {
                Some(contact) => contact,
                None => {
                    let stranger = self.stranger(&input.named)?;
                    let id = stranger.id;
                    strangers.push(stranger);
                    id
                }
            };
            let (line, brand) = self.lines.resolve(input.channel.as_ref(), input.brand.as_ref())?;
            externals.push(External {
                contact,
                shown: input.named.clone(),
                channel: line.channel.clone(),
                brand,
                joined_at: self.now,
                last_seen_at: None,
            });
        }
        Ok(strangers)
    }

    fn stranger(&self, named: &ContactRef) -> Result<Contact, Refused> {
        let blank = Contact::blank(ContactId::generate(self.ids), self.workspace, self.now);
        match named {
            ContactRef::Id(_) => Err(unknown(named.identifier(), named.identifier_type())),
            ContactRef::Email(email) => Ok(Contact { email: Some(email.clone()), ..blank }),
            ContactRef::Cellphone(cellphone) => Ok(Contact { cellphone: Some(cellphone.clone()), ..blank }),
        }
    }

    /// Lets in those who do not take part yet.
    fn join_internals(&self, internals: &mut Vec<Internal>, inputs: &[UserRef]) -> Result<(), Refused> {
        for named in inputs {
            let known = self.known.user(named);
            if known.is_some_and(|known| internals.iter().any(|internal| internal.user == known.id)) {
                continue;
            }
            let active = known.filter(|user| user.status == UserStatus::Active);
            let user = active.ok_or_else(|| unknown(named.identifier(), named.identifier_type()))?;
            internals.push(Internal {
                user: user.id,
                shown: named.clone(),
                joined_at: self.now,
                last_seen_at: None,
            });
        }
        Ok(())
    }
}

fn unknown(identifier: String, identifier_type: &'static str) -> Refused {
    Refused::UnknownParticipant { identifier, identifier_type }
}

/// Who takes part in a conversation from its beginning, whose turn it is in a team left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    externals: Vec<External>,
    internals: Vec<Internal>,
    strangers: Vec<Contact>,
}

impl Party {
    /// The lines through which the customers are reached.
    pub fn reached(&self, lines: &Lines) -> Vec<Reached> {
        let found = self.externals.iter().filter_map(|external| lines.line(&external.channel));
        let reached = found.map(|line| Reached {
            channel: line.channel.clone(),
            business_account: line.business_account.clone(),
        });
        reached.collect()
    }
}

/// A conversation that is to be made, with what is made together with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The conversation.
    pub conversation: Conversation,
    /// The contacts of customers who were none.
    pub strangers: Vec<Contact>,
    /// What is sent into it first, if anything is.
    pub plan: Option<OnboardingPlan>,
}

/// A conversation after an update, with what is made together with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its next version.
    pub conversation: Conversation,
    /// The contacts of customers who were none.
    pub strangers: Vec<Contact>,
}

impl ConversationCreate {
    /// Who is to take part. `team` is the one that the request names, where the workspace has it.
    ///
    /// Refused in this order: a team beside internals (0607); of each customer, an unknown id (0606), then the line
    /// (0605); an unknown or disabled user (0606); an unknown team (0607).
    pub fn party(&self, people: &People<'_>, team: Option<&Team>) -> Result<Party, Refused> {
        if let Some(team) = self.team.filter(|_| !self.internals.is_empty()) {
            return Err(Refused::TeamWithInternals { team });
        }
        let (mut externals, mut internals) = (vec![], vec![]);
        let strangers = people.join_externals(&mut externals, &self.externals)?;
        people.join_internals(&mut internals, &self.internals)?;
        match (self.team, team) {
            (Some(named), None) => Err(Refused::UnknownTeam { team: named }),
            _ => Ok(Party { externals, internals, strangers }),
        }
    }

    /// The conversation of those who take part, with the templates that are sent into it first, in order. `assignee`
    /// is whose turn it is in the team.
    pub fn open(
        &self,
        id: ConversationId,
        workspace: &Workspace,
        party: Party,
        assignee: Option<&User>,
        steps: Vec<Requested>,
        now: Timestamp,
    ) -> Opening {
        let Party { externals, mut internals, strangers } = party;
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
            id,
            workspace_id: workspace.id,
            name: self.name.clone(),
            status: self.status.unwrap_or(otherwise),
            externals,
            internals,
            created_at: now,
            updated_at: now,
            list_shard: list_shard(id.as_uuid(), workspace.list_shards_write),
            version: 1,
        };
        let plan = (!steps.is_empty()).then(|| OnboardingPlan {
            workspace_id: workspace.id,
            conversation: id,
            recipients: conversation.recipients(),
            steps,
            done: 0,
            created_at: now,
        });
        Opening { conversation, strangers, plan }
    }
}

/// A customer in a conversation. Who they are is the contact; how they were named is only shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The contact.
    pub contact: ContactId,
    /// As the caller named them.
    pub shown: ContactRef,
    /// The line through which they are reached.
    pub channel: ChannelId,
    /// The brand that writes to them.
    pub brand: BrandId,
    /// Since when they take part.
    pub joined_at: Timestamp,
    /// When they were last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// An agent in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Internal {
    /// The user.
    pub user: UserId,
    /// As the caller named them; by e-mail where a team's turn assigned them.
    pub shown: UserRef,
    /// Since when they take part.
    pub joined_at: Timestamp,
    /// When they were last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// How a caller names a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactRef {
    /// By the contact's id.
    Id(ContactId),
    /// By e-mail address.
    Email(Email),
    /// By phone number.
    Cellphone(Cellphone),
}

impl ContactRef {
    /// The id, address or number in its canonical spelling.
    pub fn identifier(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Email(email) => email.canonical(),
            Self::Cellphone(cellphone) => cellphone.as_str().to_owned(),
        }
    }

    /// The API's word for what the identifier is.
    pub fn identifier_type(&self) -> &'static str {
        match self {
            Self::Id(_) => "ID",
            Self::Email(_) => "EMAIL",
            Self::Cellphone(_) => "PHONE",
        }
    }

    /// Whether two spellings are one name.
    pub fn same_as(&self, other: &Self) -> bool {
        (self.identifier_type(), self.identifier()) == (other.identifier_type(), other.identifier())
    }

    fn is_identity_of(&self, contact: &Contact) -> bool {
        match self {
            Self::Id(id) => contact.id == *id,
            Self::Email(email) => contact.email.as_ref().is_some_and(|known| known.same_as(email)),
            Self::Cellphone(cellphone) => contact.cellphone.as_ref() == Some(cellphone),
        }
    }
}

/// A conversation's title: 1 to 256 characters, not blank. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ConversationName(String);

impl ConversationName {
    /// The greatest number of characters.
    pub const MAX: usize = 256;

    /// Reads a title.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.trim().is_empty() {
            return Err(Unfit::Value { reason: "a name cannot be blank" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The title as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ConversationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ConversationName]")
    }
}

/// How a conversation stands. Any status may follow any other by an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationStatus {
    /// Visible.
    Active,
    /// Invisible until its first interaction, which makes it ACTIVE.
    Ghost,
    /// Closed; a summary was made of it.
    Released,
    /// Open for any agent.
    NotAssignedToHuman,
    /// Takes no messages.
    Blocked,
}

impl ConversationStatus {
    /// The words of the API, in the order of the specification.
    pub const NAMES: &'static [&'static str] =
        &["ACTIVE", "GHOST", "RELEASED", "NOT_ASSIGNED_TO_HUMAN", "BLOCKED"];
    const ALL: [Self; 5] =
        [Self::Active, Self::Ghost, Self::Released, Self::NotAssignedToHuman, Self::Blocked];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn of_all_conversations_only_a_ghost_changes_at_an_interaction() {
        let id = Uuid::from_u128(1);
        let now = Timestamp::from_millis(7);
        for status in ConversationStatus::ALL {
            let conversation = Conversation {
                id: ConversationId::from_uuid(id),
                workspace_id: WorkspaceId::from_uuid(id),
                name: ConversationName::parse("Order 7").ok(),
                status,
                externals: vec![],
                internals: vec![],
                created_at: Timestamp::from_millis(0),
                updated_at: Timestamp::from_millis(0),
                list_shard: 3,
                version: 4,
            };
            let active = Conversation {
                status: ConversationStatus::Active,
                updated_at: now,
                version: 5,
                ..conversation.clone()
            };
            let expected = (status == ConversationStatus::Ghost).then_some(active);
            assert_eq!(conversation.at_interaction(now), expected, "{status:?}");
        }
    }
}
