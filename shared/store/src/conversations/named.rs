//! What the requests to create and to change a conversation name, read in one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::conversation::KnownPeople;
use domain::{ContactRef, Lines, Team, TeamId, Template, TemplateId, UserRef, Workspace, WorkspaceId};

use crate::contacts::{contacts_found, named_place};
use crate::dynamodb::read::{Place, Rows};
use crate::idempotency::{once_place, take_answer};
use crate::settings::teams::{take_team, team_place};
use crate::settings::templates::{take_templates, template_places};
use crate::settings::users::{take_users, user_place};
use crate::{IdempotencyKey, Store, StoreError, StoredAnswer, Table};

/// What a request names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naming<'a> {
    /// The customers.
    pub contacts: &'a [ContactRef],
    /// The internal users.
    pub users: &'a [UserRef],
    /// The team.
    pub team: Option<TeamId>,
    /// The templates, and those that probably follow them; at most 50.
    pub templates: &'a [TemplateId],
    /// The request's idempotency key.
    pub once: Option<&'a IdempotencyKey>,
}

/// What was found of it.
#[derive(Clone, Debug)]
pub struct Named {
    /// The stored answer of the idempotency key.
    pub answered: Option<StoredAnswer>,
    /// The workspace.
    pub workspace: Option<Workspace>,
    /// The lines and brands, with the default line.
    pub lines: Lines,
    /// The people whom the workspace knows.
    pub people: KnownPeople,
    /// The team.
    pub team: Option<Team>,
    /// The templates. A template of the workspace comes before one of the platform.
    pub templates: BTreeMap<TemplateId, Template>,
}

impl Store {
    /// The people that these references name (strongly consistent reads). One round trip of one call; none without
    /// references.
    pub async fn people_named(
        &self,
        workspace: WorkspaceId,
        contacts: &[ContactRef],
        users: &[UserRef],
    ) -> Result<KnownPeople, StoreError> {
        let places = PeoplePlaces::of(workspace, contacts, users);
        let mut rows = self.rows_at(places.all()).await?;
        places.take(&mut rows, contacts)
    }

    /// Everything that a request names, the workspace and its lines (strongly consistent reads). One round trip of one
    /// call; one more if the lines changed since the process remembered them.
    pub async fn named(&self, workspace: WorkspaceId, naming: &Naming<'_>) -> Result<Named, StoreError> {
        let Naming { contacts, users, team, templates, once } = *naming;
        let of_people = PeoplePlaces::of(workspace, contacts, users);
        let of_answer = once.map(|once| once_place(Table::Conversations, workspace, once));
        let of_team = team.map(|team| team_place(workspace, team));
        let of_templates = template_places(workspace, templates);
        let places = of_people.all().chain(&of_answer).chain(&of_team).chain(&of_templates);
        let read = self.rows_with_lines(workspace, &places.collect::<Vec<_>>()).await?;
        let (mut rows, lines) = (read.rows, Arc::unwrap_or_clone(read.setting?));
        let workspace = read.workspace.map(|row| self.workspace_in(row)).transpose()?;
        let default = workspace.as_ref().and_then(|workspace| workspace.default_line.clone());
        Ok(Named {
            answered: of_answer.map(|place| take_answer(&mut rows, &place)).transpose()?.flatten(),
            lines: Lines { default, ..lines },
            workspace,
            people: of_people.take(&mut rows, contacts)?,
            team: of_team.map(|place| take_team(&mut rows, &place)).transpose()?.flatten(),
            templates: take_templates(&mut rows, &of_templates)?,
        })
    }
}

/// Where the people are whom a request names.
struct PeoplePlaces {
    contacts: Vec<Place>,
    users: Vec<Place>,
}

impl PeoplePlaces {
    fn of(workspace: WorkspaceId, contacts: &[ContactRef], users: &[UserRef]) -> Self {
        Self {
            contacts: contacts.iter().map(|named| named_place(workspace, named)).collect(),
            users: users.iter().map(|named| user_place(workspace, named)).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Place> {
        self.contacts.iter().chain(&self.users)
    }

    fn take(&self, rows: &mut Rows, contacts: &[ContactRef]) -> Result<KnownPeople, StoreError> {
        let contacts = contacts_found(rows, contacts, &self.contacts)?;
        Ok(KnownPeople { contacts, users: take_users(rows, &self.users)? })
    }
}
