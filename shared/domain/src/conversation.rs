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
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::ids::TemplateId;
    use crate::line::{Brand, BusinessAccountId, Line};
    use crate::template::Parameters;
    use proptest::prelude::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    /// Ids from 1,000 on: those of contacts made during a test.
    struct Counting(AtomicU64);

    impl Ids for Counting {
        fn next(&self) -> Uuid {
            Uuid::from_u128(1_000 + u128::from(self.0.fetch_add(1, Ordering::SeqCst)))
        }
    }

    fn workspace() -> Workspace {
        Workspace::new(WorkspaceId::from_uuid(Uuid::nil()), "Test", NOW).unwrap()
    }

    fn contact(n: u128) -> ContactId {
        ContactId::from_uuid(Uuid::from_u128(n))
    }

    fn user_id(n: u128) -> UserId {
        UserId::from_uuid(Uuid::from_u128(n))
    }

    fn email(text: &str) -> Email {
        Email::parse(text).unwrap()
    }

    fn by_email(text: &str) -> ContactRef {
        ContactRef::Email(email(text))
    }

    fn by_phone(text: &str) -> ContactRef {
        ContactRef::Cellphone(Cellphone::parse(text).unwrap())
    }

    fn user(n: u128, address: &str, status: UserStatus) -> User {
        User { status, ..User::new(user_id(n), workspace().id, email(address), NOW) }
    }

    /// Ann (1) has an address and a number, Ben (2) an address, Cid (3) neither. Users 1 and 2 are active, 3 is not.
    fn known() -> Known {
        Known {
            contacts: vec![
                (ContactRef::Id(contact(1)), contact(1)),
                (by_email("ann@x.io"), contact(1)),
                (by_phone("+34600000001"), contact(1)),
                (ContactRef::Id(contact(2)), contact(2)),
                (by_email("ben@x.io"), contact(2)),
                (ContactRef::Id(contact(3)), contact(3)),
            ],
            users: vec![
                user(1, "one@x.io", UserStatus::Active),
                user(2, "two@x.io", UserStatus::Active),
                user(3, "off@x.io", UserStatus::Disabled),
            ],
        }
    }

    fn channel(id: &str) -> ChannelId {
        ChannelId::parse(id).unwrap()
    }

    fn brand(id: &str) -> BrandId {
        BrandId::parse(id).unwrap()
    }

    /// Lines 1 of brand alpha, the default, and 2 of brand beta.
    fn lines() -> Lines {
        let line = |id: &str, of: &str| {
            let account = BusinessAccountId::parse(&format!("20{id}")).unwrap();
            Line::new(workspace().id, channel(id), brand(of), account, NOW).unwrap()
        };
        let brand = |id: &str, line: &str| Brand {
            line: Some(channel(line)),
            ..Brand::new(brand(id), workspace().id, "A brand", NOW).unwrap()
        };
        Lines {
            lines: vec![line("1", "alpha"), line("2", "beta")],
            brands: vec![brand("alpha", "1"), brand("beta", "2")],
            default: Some(channel("1")),
        }
    }

    fn with_people<T>(known: &Known, now: Timestamp, judge: impl FnOnce(&People<'_>) -> T) -> T {
        let (lines, ids) = (lines(), Counting(AtomicU64::new(0)));
        judge(&People { workspace: workspace().id, known, lines: &lines, ids: &ids, now })
    }

    fn input(named: ContactRef) -> ExternalInput {
        ExternalInput { named, channel: None, brand: None }
    }

    fn request(externals: &[ContactRef]) -> ConversationCreate {
        ConversationCreate {
            externals: externals.iter().cloned().map(input).collect(),
            internals: vec![],
            name: None,
            status: None,
            team: None,
            templates: None,
        }
    }

    fn team(members: &[u128]) -> Team {
        let id = TeamId::from_uuid(Uuid::from_u128(5));
        let members = members.iter().copied().map(user_id).collect();
        Team { members, ..Team::new(id, workspace().id, "Team", NOW).unwrap() }
    }

    fn party(request: &ConversationCreate, team: Option<&Team>) -> Result<Party, Refused> {
        with_people(&known(), NOW, |people| request.party(people, team))
    }

    fn unknown_participant(identifier: impl ToString, identifier_type: &'static str) -> Refused {
        unknown(identifier.to_string(), identifier_type)
    }

    #[test]
    fn who_takes_part_is_counted_once_however_they_are_spelled() {
        let request = ConversationCreate {
            internals: vec![
                UserRef::Email(email("ONE@x.io")),
                UserRef::Id(user_id(2)),
                UserRef::Id(user_id(1)),
                UserRef::Email(email("two@x.io")),
            ],
            ..request(&[
                by_email("Ann@X.io"),
                by_phone("+34600000001"),
                ContactRef::Id(contact(2)),
                ContactRef::Id(contact(1)),
                by_email("new@x.io"),
                by_email("NEW@x.io"),
                by_phone("+34600000009"),
                by_phone("+34600000009"),
            ])
        };
        let party = party(&request, None).unwrap();
        let shown: Vec<(ContactId, String)> =
            party.externals.iter().map(|one| (one.contact, one.shown.identifier())).collect();
        assert_eq!(
            shown,
            [
                (contact(1), "ann@x.io".to_owned()),
                (contact(2), contact(2).to_string()),
                (contact(1_000), "new@x.io".to_owned()),
                (contact(1_001), "+34600000009".to_owned()),
            ]
        );
        let shown: Vec<(UserId, String)> =
            party.internals.iter().map(|one| (one.user, one.shown.identifier())).collect();
        assert_eq!(shown, [(user_id(1), "one@x.io".to_owned()), (user_id(2), user_id(2).to_string())]);
    }

    #[test]
    fn a_number_or_address_that_is_nobodys_becomes_a_contact_who_has_nothing_else() {
        let request = request(&[by_email("New@x.io"), by_phone("+34600000009")]);
        let strangers = party(&request, None).unwrap().strangers;
        let blank = |n| Contact::blank(contact(n), workspace().id, NOW);
        let by_email = Contact { email: Some(email("New@x.io")), ..blank(1_000) };
        let by_phone = Contact { cellphone: Cellphone::parse("+34600000009").ok(), ..blank(1_001) };
        assert_eq!(strangers, [by_email, by_phone]);
    }

    #[test]
    fn each_customer_is_reached_on_a_line_of_their_own() {
        let on = |named, line: Option<&str>, of: Option<&str>| ExternalInput {
            named,
            channel: line.map(channel),
            brand: of.map(brand),
        };
        let externals = vec![
            on(ContactRef::Id(contact(1)), None, None),
            on(ContactRef::Id(contact(2)), Some("2"), None),
            on(ContactRef::Id(contact(3)), None, Some("beta")),
        ];
        let party = party(&ConversationCreate { externals, ..request(&[]) }, None).unwrap();
        let lines_of: Vec<(&str, &str)> =
            party.externals.iter().map(|one| (one.channel.as_str(), one.brand.as_str())).collect();
        assert_eq!(lines_of, [("1", "alpha"), ("2", "beta"), ("2", "beta")]);
        let accounts: Vec<String> = party
            .reached(&lines())
            .iter()
            .map(|line| format!("{} {}", line.channel.as_str(), line.business_account.as_str()))
            .collect();
        assert_eq!(accounts, ["1 201", "2 202", "2 202"]);
    }

    #[test]
    fn what_a_new_conversation_is_refused_for() {
        let ann = || request(&[ContactRef::Id(contact(1))]);
        let nowhere = ExternalInput { channel: Some(channel("9")), ..input(ContactRef::Id(contact(1))) };
        let nobody = ContactRef::Id(contact(9));
        let five = TeamId::from_uuid(Uuid::from_u128(5));
        let off = |named| ConversationCreate { internals: vec![named], ..ann() };
        let rows = [
            (request(std::slice::from_ref(&nobody)), unknown_participant(contact(9), "ID")),
            (
                ConversationCreate { externals: vec![nowhere.clone()], ..ann() },
                Refused::UnknownLine { channel: Some(channel("9")), brand: None },
            ),
            (off(UserRef::Id(user_id(9))), unknown_participant(user_id(9), "ID")),
            (off(UserRef::Email(email("Nobody@x.io"))), unknown_participant("nobody@x.io", "EMAIL")),
            (off(UserRef::Id(user_id(3))), unknown_participant(user_id(3), "ID")),
            (off(UserRef::Email(email("off@x.io"))), unknown_participant("off@x.io", "EMAIL")),
            (ConversationCreate { team: Some(five), ..ann() }, Refused::UnknownTeam { team: five }),
            // The first of several.
            (
                ConversationCreate {
                    team: Some(five),
                    internals: vec![UserRef::Id(user_id(1))],
                    ..request(std::slice::from_ref(&nobody))
                },
                Refused::TeamWithInternals { team: five },
            ),
            (
                ConversationCreate {
                    externals: vec![nowhere.clone(), input(nobody.clone())],
                    ..off(UserRef::Id(user_id(9)))
                },
                Refused::UnknownLine { channel: Some(channel("9")), brand: None },
            ),
            (
                ConversationCreate {
                    externals: vec![input(nobody.clone()), nowhere],
                    ..off(UserRef::Id(user_id(9)))
                },
                unknown_participant(contact(9), "ID"),
            ),
            (
                ConversationCreate { team: Some(five), ..request(&[nobody]) },
                unknown_participant(contact(9), "ID"),
            ),
        ];
        for (request, refused) in rows {
            assert_eq!(party(&request, None), Err(refused), "{request:?}");
        }
    }

    fn opened(request: &ConversationCreate, team: Option<&Team>, assignee: Option<&User>) -> Opening {
        let id = ConversationId::from_uuid(Uuid::from_u128(7));
        let party = party(request, team).unwrap();
        request.open(id, &workspace(), party, assignee, vec![], NOW)
    }

    #[test]
    fn a_conversation_begins_active_unless_its_team_has_nobody_or_the_caller_says_otherwise() {
        use ConversationStatus::{Active, Ghost, NotAssignedToHuman};
        let (some, one) = (team(&[1]), user(1, "One@x.io", UserStatus::Active));
        let rows = [
            (None, None, None, Active),
            (None, None, Some(Ghost), Ghost),
            (Some(&some), Some(&one), None, Active),
            (Some(&some), Some(&one), Some(Ghost), Ghost),
            (Some(&some), None, None, NotAssignedToHuman),
            (Some(&some), None, Some(Active), Active),
        ];
        for (team, assignee, status, expected) in rows {
            let request = ConversationCreate {
                status,
                team: team.map(|team| team.id),
                ..request(&[ContactRef::Id(contact(1))])
            };
            let opening = opened(&request, team, assignee);
            assert_eq!(opening.conversation.status, expected, "{team:?} {status:?}");
        }
    }

    #[test]
    fn whose_turn_it_is_takes_part_and_is_shown_by_e_mail() {
        let (some, one) = (team(&[1]), user(1, "One@x.io", UserStatus::Active));
        let request = ConversationCreate { team: Some(some.id), ..request(&[ContactRef::Id(contact(1))]) };
        let internals = opened(&request, Some(&some), Some(&one)).conversation.internals;
        let assigned = Internal {
            user: user_id(1),
            shown: UserRef::Email(email("One@x.io")),
            joined_at: NOW,
            last_seen_at: None,
        };
        assert_eq!(internals, [assigned]);
    }

    #[test]
    fn what_is_sent_first_goes_to_those_who_take_part_from_the_beginning() {
        let request = request(&[ContactRef::Id(contact(2)), by_phone("+34600000009")]);
        let id = ConversationId::from_uuid(Uuid::from_u128(7));
        let step =
            Requested { template: TemplateId::from_uuid(Uuid::from_u128(8)), parameters: Parameters::new() };
        let steps = vec![step.clone(), step];
        let opening =
            request.open(id, &workspace(), party(&request, None).unwrap(), None, steps.clone(), NOW);
        let to = |n| Recipient { contact: contact(n), channel: channel("1") };
        let plan = OnboardingPlan {
            workspace_id: workspace().id,
            conversation: id,
            recipients: vec![to(2), to(1_000)],
            steps,
            done: 0,
            created_at: NOW,
        };
        assert_eq!(opening.plan, Some(plan));
        assert_eq!(opened(&request, None, None).plan, None);
    }

    fn external(n: u128, shown: ContactRef) -> External {
        External {
            contact: contact(n),
            shown,
            channel: channel("2"),
            brand: brand("beta"),
            joined_at: NOW,
            last_seen_at: None,
        }
    }

    /// Between Ann, by her address, and user 1, by id.
    fn conversation() -> Conversation {
        Conversation {
            id: ConversationId::from_uuid(Uuid::from_u128(7)),
            workspace_id: workspace().id,
            name: ConversationName::parse("Order 7").ok(),
            status: ConversationStatus::Active,
            externals: vec![external(1, by_email("ann@x.io"))],
            internals: vec![Internal {
                user: user_id(1),
                shown: UserRef::Id(user_id(1)),
                joined_at: NOW,
                last_seen_at: None,
            }],
            created_at: NOW,
            updated_at: NOW,
            list_shard: 0,
            version: 4,
        }
    }

    fn apply(before: &Conversation, update: &ConversationUpdate) -> Result<Option<Change>, Refused> {
        with_people(&known(), NOW, |people| before.apply(update, people))
    }

    fn after(update: &ConversationUpdate) -> Conversation {
        apply(&conversation(), update).unwrap().expect("something changes").conversation
    }

    #[test]
    fn an_update_changes_what_it_names_and_nothing_else() {
        let later = Timestamp::from_millis(NOW.as_millis() + 1);
        let next = |change: fn(&mut Conversation)| {
            let mut next = Conversation { version: 5, updated_at: later, ..conversation() };
            change(&mut next);
            next
        };
        let none = ConversationUpdate::default;
        let name = |name| Patch::Set(ConversationName::parse(name).unwrap());
        let rows = [
            (
                ConversationUpdate { name: name("Order 8"), ..none() },
                next(|next| next.name = ConversationName::parse("Order 8").ok()),
            ),
            (ConversationUpdate { name: Patch::Clear, ..none() }, next(|next| next.name = None)),
            (
                ConversationUpdate { status: Some(ConversationStatus::Blocked), ..none() },
                next(|next| next.status = ConversationStatus::Blocked),
            ),
            (
                ConversationUpdate { add_externals: vec![input(by_email("BEN@x.io"))], ..none() },
                next(|next| {
                    next.externals.push(External {
                        channel: channel("1"),
                        brand: brand("alpha"),
                        ..external(2, by_email("BEN@x.io"))
                    });
                }),
            ),
            (
                ConversationUpdate { remove_internals: vec![UserRef::Email(email("One@x.io"))], ..none() },
                next(|next| next.internals.clear()),
            ),
        ];
        for (update, expected) in rows {
            assert_eq!(after(&update), expected, "{update:?}");
        }
    }

    #[test]
    fn an_update_that_changes_nothing_is_none_whatever_else_it_says() {
        let none = ConversationUpdate::default;
        let nowhere = ExternalInput { channel: Some(channel("9")), ..input(by_phone("+34600000001")) };
        let mut with_disabled = conversation();
        with_disabled.internals.push(Internal {
            user: user_id(3),
            shown: UserRef::Id(user_id(3)),
            joined_at: NOW,
            last_seen_at: None,
        });
        let rows = [
            none(),
            ConversationUpdate { name: Patch::Set(ConversationName::parse("Order 7").unwrap()), ..none() },
            ConversationUpdate { status: Some(ConversationStatus::Active), ..none() },
            ConversationUpdate { add_externals: vec![input(ContactRef::Id(contact(1)))], ..none() },
            // Retried after the line went.
            ConversationUpdate { add_externals: vec![nowhere], ..none() },
            ConversationUpdate {
                remove_externals: vec![
                    ContactRef::Id(contact(2)),
                    ContactRef::Id(contact(9)),
                    by_email("nobody@x.io"),
                    by_phone("+34600000009"),
                ],
                ..none()
            },
            ConversationUpdate { add_internals: vec![UserRef::Email(email("one@x.io"))], ..none() },
            // Retried after the user was disabled.
            ConversationUpdate { add_internals: vec![UserRef::Email(email("off@x.io"))], ..none() },
            ConversationUpdate {
                remove_internals: vec![UserRef::Id(user_id(2)), UserRef::Email(email("nobody@x.io"))],
                ..none()
            },
            // Named in both lists.
            ConversationUpdate {
                add_externals: vec![input(by_phone("+34600000001"))],
                remove_externals: vec![by_email("ann@x.io")],
                add_internals: vec![UserRef::Id(user_id(1))],
                remove_internals: vec![UserRef::Email(email("one@x.io"))],
                ..none()
            },
        ];
        for update in rows {
            assert_eq!(apply(&with_disabled, &update), Ok(None), "{update:?}");
        }
    }

    #[test]
    fn a_participant_shown_by_an_address_that_is_nobodys_any_more_is_removed_by_it() {
        let mut before = conversation();
        before.externals.push(external(3, by_email("cid@x.io")));
        let remove = |named| ConversationUpdate { remove_externals: vec![named], ..Default::default() };
        let change = apply(&before, &remove(by_email("CID@x.io"))).unwrap().unwrap();
        assert_eq!(change.conversation.externals, conversation().externals);
        // An address that is somebody else's now means them.
        before.externals[1].shown = by_email("ben@x.io");
        assert_eq!(apply(&before, &remove(by_email("ben@x.io"))), Ok(None));
    }

    #[test]
    fn what_an_update_is_refused_for() {
        let none = ConversationUpdate::default;
        let numbers = |count: u32| (0..count).map(|n| input(by_phone(&format!("+3460001{n:04}")))).collect();
        let addresses: Vec<UserRef> = (0..20).map(|n| UserRef::Email(email(&format!("u{n}@x.io")))).collect();
        let mut known = known();
        known.users.extend((0..20).map(|n| user(100 + n, &format!("u{n}@x.io"), UserStatus::Active)));
        let rows = [
            (
                ConversationUpdate { remove_externals: vec![ContactRef::Id(contact(1))], ..none() },
                Some(Refused::NoExternalLeft),
            ),
            (
                ConversationUpdate {
                    remove_externals: vec![by_phone("+34600000001")],
                    add_externals: vec![input(ContactRef::Id(contact(2)))],
                    ..none()
                },
                None,
            ),
            (
                ConversationUpdate { add_externals: vec![input(ContactRef::Id(contact(9)))], ..none() },
                Some(unknown_participant(contact(9), "ID")),
            ),
            (
                ConversationUpdate { add_internals: vec![UserRef::Id(user_id(3))], ..none() },
                Some(unknown_participant(user_id(3), "ID")),
            ),
            (ConversationUpdate { add_externals: numbers(9), ..none() }, None),
            (
                ConversationUpdate { add_externals: numbers(10), ..none() },
                Some(Refused::TooManyParticipants { side: "externals", max: 10 }),
            ),
            (ConversationUpdate { add_internals: addresses[..19].to_vec(), ..none() }, None),
            (
                ConversationUpdate { add_internals: addresses.clone(), ..none() },
                Some(Refused::TooManyParticipants { side: "internals", max: 20 }),
            ),
            (
                ConversationUpdate {
                    add_internals: addresses,
                    remove_internals: vec![UserRef::Id(user_id(1))],
                    ..none()
                },
                None,
            ),
        ];
        for (update, refused) in rows {
            let applied = with_people(&known, NOW, |people| conversation().apply(&update, people));
            assert_eq!(applied.err(), refused, "{update:?}");
        }
    }

    #[test]
    fn the_moment_of_a_change_never_goes_back_nor_stands_still() {
        let update = ConversationUpdate { name: Patch::Clear, ..Default::default() };
        let moment = |now: i64| {
            let now = Timestamp::from_millis(NOW.as_millis() + now);
            let change = with_people(&known(), now, |people| conversation().apply(&update, people));
            change.unwrap().unwrap().conversation.updated_at.as_millis() - NOW.as_millis()
        };
        assert_eq!([-5, 0, 1, 7].map(moment), [1, 1, 1, 7]);
    }

    fn any_contact_ref() -> impl Strategy<Value = ContactRef> {
        prop_oneof![
            (1..4_u128).prop_map(|n| ContactRef::Id(contact(n))),
            prop::sample::select(&["ann@x.io", "ANN@x.io", "ben@x.io", "new@x.io"][..]).prop_map(by_email),
            prop::sample::select(&["+34600000001", "+34600000009"][..]).prop_map(by_phone),
        ]
    }

    fn any_user_ref() -> impl Strategy<Value = UserRef> {
        prop_oneof![
            (1..3_u128).prop_map(|n| UserRef::Id(user_id(n))),
            prop::sample::select(&["one@x.io", "Two@x.io"][..]).prop_map(|text| UserRef::Email(email(text))),
        ]
    }

    fn any_update() -> impl Strategy<Value = ConversationUpdate> {
        let contacts = || prop::collection::vec(any_contact_ref(), 0..4);
        let users = || prop::collection::vec(any_user_ref(), 0..3);
        let name = prop_oneof![
            Just(Patch::Keep),
            Just(Patch::Clear),
            Just(Patch::Set(ConversationName::parse("Order 8").unwrap())),
        ];
        let status = prop::option::of(prop::sample::select(&ConversationStatus::ALL[..]));
        (name, status, contacts(), contacts(), users(), users()).prop_map(
            |(name, status, add_externals, remove_externals, add_internals, remove_internals)| {
                let add_externals = add_externals.into_iter().map(input).collect();
                ConversationUpdate {
                    name,
                    status,
                    add_externals,
                    remove_externals,
                    add_internals,
                    remove_internals,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn an_update_done_twice_is_done_once(update in any_update()) {
            let mut known = known();
            let Ok(Some(change)) = with_people(&known, NOW, |people| conversation().apply(&update, people))
            else {
                return Ok(());
            };
            for stranger in &change.strangers {
                let names = stranger.email.clone().map(ContactRef::Email);
                let names = names.into_iter().chain(stranger.cellphone.clone().map(ContactRef::Cellphone));
                known.contacts.extend(names.map(|name| (name, stranger.id)));
            }
            let again = with_people(&known, NOW, |people| change.conversation.apply(&update, people));
            prop_assert_eq!(again, Ok(None));
        }

        #[test]
        fn after_an_update_those_added_take_part_once_and_those_only_removed_do_not(update in any_update()) {
            let Ok(change) = apply(&conversation(), &update) else { return Ok(()) };
            let (after, strangers) =
                change.map_or((conversation(), vec![]), |change| (change.conversation, change.strangers));
            let who = |named: &ContactRef| {
                let stranger = strangers.iter().find(|stranger| named.is_identity_of(stranger));
                known().contact(named).or(stranger.map(|stranger| stranger.id))
            };
            let there = |contact| after.externals.iter().filter(|one| Some(one.contact) == contact).count();
            let added: Vec<_> = update.add_externals.iter().map(|added| who(&added.named)).collect();
            for contact in &added {
                prop_assert_eq!(there(*contact), 1);
            }
            for named in &update.remove_externals {
                prop_assert_eq!(there(who(named)), usize::from(added.contains(&who(named))));
            }
            let user = |named: &UserRef| known().user(named).map(|user| user.id);
            let there = |user| after.internals.iter().filter(|one| Some(one.user) == user).count();
            let added: Vec<_> = update.add_internals.iter().map(user).collect();
            for user in &added {
                prop_assert_eq!(there(*user), 1);
            }
            for named in &update.remove_internals {
                prop_assert_eq!(there(user(named)), usize::from(added.contains(&user(named))));
            }
        }
    }

    #[test]
    fn of_all_conversations_only_a_ghost_changes_at_an_interaction() {
        let now = Timestamp::from_millis(NOW.as_millis() + 7);
        for status in ConversationStatus::ALL {
            let before = Conversation { status, ..conversation() };
            let active = Conversation {
                status: ConversationStatus::Active,
                updated_at: now,
                version: 5,
                ..before.clone()
            };
            let expected = (status == ConversationStatus::Ghost).then_some(active);
            assert_eq!(before.at_interaction(now), expected, "{status:?}");
        }
    }

    #[test]
    fn names_are_compared_and_shown_by_their_canonical_spelling() {
        let id = ContactRef::Id(ContactId::parse("8C2D4E6F-1A3B-4C5D-8E7F-9A0B1C2D3E4F").unwrap());
        let rows = [
            (id, "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f", "ID"),
            (by_email("Ann@X.io"), "ann@x.io", "EMAIL"),
            (by_phone("+34600000001"), "+34600000001", "PHONE"),
        ];
        for (named, identifier, identifier_type) in &rows {
            assert_eq!(
                (named.identifier().as_str(), named.identifier_type()),
                (*identifier, *identifier_type)
            );
            assert_eq!(rows.iter().filter(|(other, ..)| other.same_as(named)).count(), 1);
        }
        assert!(by_email("ANN@x.io").same_as(&by_email("ann@X.IO")));
    }

    #[test]
    fn a_name_is_1_to_256_characters_and_not_blank() {
        assert!(ConversationName::parse(&"é".repeat(256)).is_ok());
        assert_eq!(ConversationName::parse(&"é".repeat(257)), Err(Unfit::TooLong { max: 256 }));
        assert_eq!(ConversationName::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert!(matches!(ConversationName::parse(" \n"), Err(Unfit::Value { .. })));
        assert_eq!(format!("{:?}", ConversationName::parse("Order 7").unwrap()), "[ConversationName]");
    }
}
