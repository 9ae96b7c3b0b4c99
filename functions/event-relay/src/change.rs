//! Reads from a stream record what changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_lambda_events::dynamodb::EventRecord;
use domain::choices::Held;
use domain::contact::conflict::Conflict;
use domain::message::SentBy;
use domain::settings::reported::{AccountReport, LineState};
use domain::settings::template::Change;
use domain::webhook::pace::Pace;
use domain::{
    ChoiceScope, Choices, Contact, ContactId, Conversation, ConversationStatus, EndpointState, Event,
    EventType, LaneId, Lead, LeadState, MediaId, Message, Template, TemplateScope, Timestamp,
    WebhookEndpoint, WorkspaceId, usage,
};
use serde_dynamo::Item;
use store::{Image, RowChange, StoreError};
use uuid::Uuid;

/// The work that the records ask for.
#[derive(Debug, Default)]
pub(crate) struct BatchWork {
    /// Changes that are events, with or without a subscriber.
    pub(crate) changes: Vec<EventChange>,
    /// The lanes of conversations and leads that have a message to send, each once. The transaction that made the
    /// change also added the work to these lanes.
    pub(crate) lanes: Vec<LaneId>,
    /// Files that no message referred to in time.
    pub(crate) forgotten: Vec<Forgotten>,
    /// Messages of leads that changed what their lead shows.
    pub(crate) followed: Vec<Followed>,
    /// Changes of the platform's templates.
    pub(crate) of_platform: Vec<OfPlatform>,
}

/// A file to delete.
#[derive(Clone, Debug)]
pub(crate) struct Forgotten {
    /// The position of its record in the batch.
    pub(crate) record: usize,
    pub(crate) workspace: WorkspaceId,
    pub(crate) media: MediaId,
}

/// A message that its lead follows.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    /// The position of its record in the batch.
    pub(crate) record: usize,
    pub(crate) message: Message,
}

/// A change of a template of the platform. It is an event in each workspace that it concerns.
#[derive(Clone, Debug)]
pub(crate) struct OfPlatform {
    /// The position of its record in the batch.
    pub(crate) record: usize,
    pub(crate) change: Arc<Change>,
}

/// A change that is an event.
#[derive(Clone, Debug)]
pub(crate) struct EventChange {
    /// The position of its record in the batch.
    pub(crate) record: usize,
    pub(crate) event: Event,
    pub(crate) about: About,
    /// The id of the API request that made the change, if a request did.
    pub(crate) request: Option<String>,
}

/// The data that an event's payload shows.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Contact(Contact),
    /// A contact as it was before it became part of this one at this time.
    Merged(Box<Contact>, ContactId, Timestamp),
    Conflict(Conflict),
    Conversation(Conversation),
    /// A released conversation, whose summary the payload shows.
    Release(Conversation),
    Message(Message),
    Lead(Box<Lead>),
    /// The choices of a number or a user id, and the one that changed.
    Choice(Box<Choices>, ChoiceScope, Held),
    /// A template that changed.
    Template(Arc<Change>),
    /// What the provider says about a line.
    Line(Box<LineState>),
    /// What the provider says about a business account.
    Account(Box<AccountReport>),
    /// A webhook endpoint that was disabled or fails.
    Endpoint(Box<WebhookEndpoint>),
}

impl About {
    /// Whether the payload shows a contact, with its attributes by the workspace's definitions.
    pub(crate) fn shows_contacts(&self) -> bool {
        matches!(self, Self::Contact(_) | Self::Merged(..))
    }
}

impl EventChange {
    /// What the event is about: an erasure of it erases the data of the event.
    pub(crate) fn subject(&self) -> Uuid {
        match &self.about {
            About::Contact(contact) => *contact.id.as_uuid(),
            About::Merged(contact, ..) => *contact.id.as_uuid(),
            About::Conflict(conflict) => *conflict.contact.as_uuid(),
            About::Conversation(conversation) | About::Release(conversation) => *conversation.id.as_uuid(),
            About::Message(message) => *message.conversation.as_uuid(),
            About::Lead(lead) => *lead.id.as_uuid(),
            About::Choice(choices, ..) => choices.subject(),
            About::Template(change) => change.after.entity(self.event.workspace_id),
            About::Line(line) => line.entity(),
            About::Account(account) => account.entity(),
            About::Endpoint(endpoint) => *endpoint.id.as_uuid(),
        }
    }

    /// The name under which the change counts in the workspace's usage.
    pub(crate) fn usage(&self) -> &'static str {
        let direction = match &self.about {
            About::Message(message) => Some(message.direction()),
            _ => None,
        };
        usage::name_of(self.event.event_type, direction)
    }

    /// Whether this endpoint may get the event. An endpoint is not told about itself: it does not answer.
    pub(crate) fn may_tell(&self, endpoint: &WebhookEndpoint) -> bool {
        !matches!(&self.about, About::Endpoint(about) if about.id == endpoint.id)
    }

    fn new(event: Event, about: About) -> Self {
        Self { record: 0, event, about, request: None }
    }
}

impl BatchWork {
    /// The work of these records, without the lanes.
    pub(crate) fn of_records(&self, records: &BTreeSet<usize>) -> Self {
        let changes = self.changes.iter().filter(|change| records.contains(&change.record));
        let forgotten = self.forgotten.iter().filter(|file| records.contains(&file.record));
        let followed = self.followed.iter().filter(|message| records.contains(&message.record));
        let of_platform = self.of_platform.iter().filter(|template| records.contains(&template.record));
        Self {
            changes: changes.cloned().collect(),
            lanes: vec![],
            forgotten: forgotten.cloned().collect(),
            followed: followed.cloned().collect(),
            of_platform: of_platform.cloned().collect(),
        }
    }

    /// Adds the work that the record at that position asks for. A record asks for nothing if the API shows no change:
    /// a helper row, a write that left the version unchanged, or the removal of anything but a file.
    pub(crate) fn add(&mut self, place: usize, record: &EventRecord) -> Result<(), StoreError> {
        let (change, record, name) = (&record.change, place, record.event_name.as_str());
        let mut of_record = Self::default();
        if name != "REMOVE" {
            of_record.add_written(name, &change.old_image, &change.new_image)?;
        } else if let Some(Image::Media(workspace, media)) = Image::read(change.old_image.clone())? {
            self.forgotten.push(Forgotten { record, workspace, media });
        }
        let Self { changes, lanes, followed, of_platform, .. } = of_record;
        let request = Image::request(&change.new_image).map(str::to_owned);
        self.changes.extend(changes.into_iter().map(|of| EventChange {
            record,
            request: request.clone(),
            ..of
        }));
        self.followed.extend(followed.into_iter().map(|of| Followed { record, ..of }));
        self.of_platform.extend(of_platform.into_iter().map(|of| OfPlatform { record, ..of }));
        lanes.into_iter().for_each(|lane| self.wake(lane));
        Ok(())
    }

    /// Adds the work of a new row (`INSERT`) or of a changed one (`MODIFY`).
    fn add_written(&mut self, name: &str, old: &Item, new: &Item) -> Result<(), StoreError> {
        let image = |image: &Item| Image::read(image.clone());
        match name {
            "INSERT" => self.add_inserted(image(new)?),
            "MODIFY" => {
                let (old, new) = (image(old)?, image(new)?);
                if let (None, Some(Image::Asked(lane))) = (&old, &new) {
                    self.wake(*lane);
                }
                if let Some((old, new)) = old.zip(new) {
                    self.add_requeued(&old, &new);
                    self.add_followed(&old, &new);
                    match (old, new) {
                        (Image::Template(old), Image::Template(new)) => self.add_template(Some(*old), *new),
                        images => self.changes.extend(modified(images)),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_inserted(&mut self, image: Option<Image>) {
        match image {
            Some(Image::Contact(contact)) => {
                self.changes.push(of_contact(EventType::ContactCreated, contact));
            }
            Some(Image::Conflict(conflict)) => self.changes.push(of_conflict(conflict)),
            Some(Image::Conversation(conversation)) => {
                let event = of_conversation(EventType::ConversationCreated, &conversation);
                self.changes.push(EventChange::new(event, About::Conversation(conversation)));
            }
            Some(Image::Message(message)) => {
                // The sender makes the onboarding messages while it sends.
                if matches!(message.sent_by, SentBy::Api | SentBy::Lead) && message.is_broadcast() {
                    self.wake(LaneId::Conversation(message.workspace_id, message.conversation));
                }
                self.changes.push(of_message(EventType::MessageCreated, message));
            }
            Some(Image::Plan(workspace, conversation)) => {
                self.wake(LaneId::Conversation(workspace, conversation));
            }
            Some(Image::Lead(lead)) => {
                self.wake(LaneId::Lead(lead.workspace_id, lead.id));
                self.changes.push(of_lead(EventType::LeadAccepted, lead));
            }
            Some(Image::Asked(lane)) => self.wake(lane),
            Some(Image::Choices(choices)) => self.changes.extend(of_choices(None, &choices)),
            Some(Image::Template(template)) => self.add_template(None, *template),
            Some(Image::LineState(line)) => self.changes.push(of_line(line)),
            Some(Image::AccountReport(account)) => self.changes.push(of_account(account)),
            Some(Image::Media(..) | Image::Merged(..) | Image::Endpoint(_)) | None => {}
        }
    }

    /// Queues a lead again after an operator or a repeat asked for another try.
    fn add_requeued(&mut self, old: &Image, new: &Image) {
        if let (Image::Lead(old), Image::Lead(new)) = (old, new)
            && new.version > old.version
            && new.state == LeadState::Queued
        {
            self.wake(LaneId::Lead(new.workspace_id, new.id));
        }
    }

    /// Lets a lead follow its message, if the change shows in the lead.
    fn add_followed(&mut self, old: &Image, new: &Image) {
        if let (Image::Message(old), Image::Message(new)) = (old, new)
            && new.lead.is_some()
            && new.version > old.version
            && Lead::state_of(new) != Lead::state_of(old)
        {
            self.followed.push(Followed { record: 0, message: new.clone() });
        }
    }

    fn add_template(&mut self, before: Option<Template>, after: Template) {
        let (scope, change) = (after.scope, Arc::new(Change { before, after }));
        match scope {
            _ if !change.shows() => {}
            TemplateScope::Workspace(workspace) => self.changes.push(of_template(workspace, change)),
            TemplateScope::Platform => self.of_platform.push(OfPlatform { record: 0, change }),
        }
    }

    fn wake(&mut self, lane: LaneId) {
        if !self.lanes.contains(&lane) {
            self.lanes.push(lane);
        }
    }
}

/// The events of a change of a row.
pub(crate) fn changes_of(RowChange { name, old, new }: &RowChange) -> Result<Vec<EventChange>, StoreError> {
    let mut work = BatchWork::default();
    work.add_written(name, old, new)?;
    Ok(work.changes)
}

fn modified(images: (Image, Image)) -> Vec<EventChange> {
    match images {
        (Image::Contact(old), Image::Contact(new)) if new.version > old.version => {
            vec![of_contact(EventType::ContactUpdated, new)]
        }
        (Image::Contact(old), Image::Merged(into, at)) => vec![of_merge(old, into, at)],
        (Image::Conversation(old), Image::Conversation(new)) if new.version > old.version => {
            let released = ConversationStatus::Released;
            let release = (new.status == released && old.status != released).then(|| {
                let event = of_conversation(EventType::ConversationSummaryCreated, &new);
                EventChange::new(event, About::Release(new.clone()))
            });
            let event = of_conversation(EventType::ConversationUpdated, &new);
            let update = EventChange::new(event, About::Conversation(new));
            [Some(update), release].into_iter().flatten().collect()
        }
        (Image::Message(old), Image::Message(new)) if new.version > old.version && is_event(&old, &new) => {
            vec![of_message(EventType::MessageUpdated, new)]
        }
        (Image::Lead(old), Image::Lead(new)) if new.version > old.version => match new.state {
            LeadState::Queued | LeadState::Sending => vec![],
            LeadState::Sent => vec![of_lead(EventType::LeadSent, new)],
            // The three states share one event type. The lead's state in the payload tells them apart.
            LeadState::Failed | LeadState::Unknown | LeadState::Suppressed => {
                vec![of_lead(EventType::LeadFailed, new)]
            }
        },
        (Image::Choices(old), Image::Choices(new)) => of_choices(Some(&old), &new),
        (Image::LineState(old), Image::LineState(new)) if new.differs(&old) => vec![of_line(new)],
        (Image::AccountReport(old), Image::AccountReport(new)) if new.differs(&old) => vec![of_account(new)],
        (Image::Endpoint(old), Image::Endpoint(new)) => of_endpoint(&old, new).into_iter().collect(),
        _ => vec![],
    }
}

/// Whether a change of a message is an event: a change of its status, of its content, which is a customer's edit or deletion, or of
/// a part that the sender had finished, which is a report of the provider. The sender's own steps show in the status.
fn is_event(old: &Message, new: &Message) -> bool {
    let mut parts = old.parts.iter().zip(&new.parts);
    new.status() != old.status()
        || new.content != old.content
        || parts.any(|(old, new)| old.status.is_final() && old != new)
}

fn of_contact(event_type: EventType, contact: Contact) -> EventChange {
    let (id, version) = (contact.id, contact.version);
    let event = Event::of_change(event_type, contact.workspace_id, id.as_uuid(), version, contact.updated_at);
    EventChange::new(event, About::Contact(contact))
}

/// A contact is merged once, so the id of the event is derived from the contact that went.
fn of_merge(old: Contact, into: ContactId, at: Timestamp) -> EventChange {
    let (id, version) = (old.id, old.version + 1);
    let event = Event::of_change(EventType::ContactMerged, old.workspace_id, id.as_uuid(), version, at);
    EventChange::new(event, About::Merged(Box::new(old), into, at))
}

/// The row of a conflict is put once and never changes.
fn of_conflict(conflict: Conflict) -> EventChange {
    let Conflict { workspace_id, at, .. } = conflict;
    let event = Event::of_change(EventType::ContactConflict, workspace_id, &conflict.entity(), 1, at);
    EventChange::new(event, About::Conflict(conflict))
}

fn of_conversation(event_type: EventType, conversation: &Conversation) -> Event {
    let Conversation { id, workspace_id, version, updated_at, .. } = conversation;
    Event::of_change(event_type, *workspace_id, id.as_uuid(), *version, *updated_at)
}

fn of_message(event_type: EventType, message: Message) -> EventChange {
    let (id, version) = (message.id, message.version);
    let event = Event::of_change(event_type, message.workspace_id, id.as_uuid(), version, message.updated_at);
    EventChange::new(event, About::Message(message))
}

fn of_lead(event_type: EventType, lead: Box<Lead>) -> EventChange {
    let (id, version) = (lead.id, lead.version);
    let event = Event::of_change(event_type, lead.workspace_id, id.as_uuid(), version, lead.updated_at);
    EventChange::new(event, About::Lead(lead))
}

/// The events of the choices of a row that changed, as far as the row makes them.
fn of_choices(old: Option<&Choices>, choices: &Choices) -> Vec<EventChange> {
    let of_scope = |(scope, held): (&ChoiceScope, &Held)| {
        let event_type = if held.is_out() { EventType::ContactOptedOut } else { EventType::ContactOptedIn };
        let Choices { workspace_id, version, updated_at, .. } = choices;
        let event =
            Event::of_change(event_type, *workspace_id, &choices.entity(scope), *version, *updated_at);
        EventChange::new(event, About::Choice(Box::new(choices.clone()), scope.clone(), *held))
    };
    choices.events_after(old).map(of_scope).collect()
}

/// The event of a change of a template, in one workspace.
pub(crate) fn of_template(workspace: WorkspaceId, change: Arc<Change>) -> EventChange {
    let Template { version, updated_at, .. } = change.after;
    let entity = change.after.entity(workspace);
    let event = Event::of_change(EventType::TemplateUpdated, workspace, &entity, version, updated_at);
    EventChange::new(event, About::Template(change))
}

fn of_line(line: Box<LineState>) -> EventChange {
    let LineState { workspace_id, version, updated_at, .. } = *line;
    let event = Event::of_change(EventType::LineUpdated, workspace_id, &line.entity(), version, updated_at);
    EventChange::new(event, About::Line(line))
}

fn of_account(account: Box<AccountReport>) -> EventChange {
    let AccountReport { workspace_id, version, updated_at, .. } = *account;
    let event =
        Event::of_change(EventType::AccountUpdated, workspace_id, &account.entity(), version, updated_at);
    EventChange::new(event, About::Account(account))
}

/// The event of an endpoint that was disabled, or whose failures are now reported. The id of the second is derived from the
/// first failure, so a report that is written again is the same event.
fn of_endpoint(old: &WebhookEndpoint, new: Box<WebhookEndpoint>) -> Option<EventChange> {
    let event_of = |event_type, version, at| {
        Event::of_change(event_type, new.workspace_id, new.id.as_uuid(), version, at)
    };
    let event = match (old.state, new.state) {
        (EndpointState::Enabled, EndpointState::Disabled { since, .. }) => {
            event_of(EventType::WebhookEndpointDisabled, new.version, since)
        }
        _ if old.failing_since.is_none() => {
            event_of(EventType::WebhookEndpointFailing, 1, new.failing_since?.plus(Pace::REPORTED_AFTER))
        }
        _ => return None,
    };
    Some(EventChange::new(event, About::Endpoint(new)))
}
