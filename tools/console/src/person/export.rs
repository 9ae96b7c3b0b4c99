//! Exports what is kept of a person: a folder with `person.json` and the person's files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::choices::Chooser;
use domain::message::Content;
use domain::{
    ChannelId, Choices, Contact, Conversation, DeliveryId, Event, EventId, MediaId, Message, OnboardingPlan,
    Person, Timestamp, WaId, WorkspaceId,
};
use edge::view;
use people::events::Subject;
use people::failures::{Holding, Needles};
use serde::Serialize;
use serde_json::{Value, json};
use store::{EventAbout, Found, PersonConversation, Store};

use crate::beside::KnownStack;
use crate::lead;
use crate::view::View;
use crate::{Console, Refusal, Result, private};

/// How much is exported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The person's own data, for the person.
    Own,
    /// Everything that an erasure would remove, for the operator.
    All,
}

impl Extent {
    pub(crate) fn of(all: bool) -> Self {
        if all { Self::All } else { Self::Own }
    }
}

/// Writes what is kept of the person into a new folder.
pub(crate) async fn export(
    console: &Console,
    beside: &KnownStack,
    workspace: WorkspaceId,
    asked: Person,
    folder: &Path,
    extent: Extent,
) -> Result<View> {
    let (store, now) = (&console.store, console.store.now());
    let found = store.find_person(workspace, asked).await?;
    if found.is_empty() {
        return Err(Refusal::NobodyFound);
    }
    private::folder(folder).map_err(|error| not_written(folder, &error))?;
    let export = Export { store, beside, workspace, found: &found, now, extent };
    let (conversations, file_ids) = export.conversations().await?;
    let files = export.files(&file_ids, folder).await?;
    let subjects = export.subjects();
    let events = export.events(&subjects).await?;
    let mut person = json!({
        "workspaceId": workspace.to_string(),
        "exportedAt": now.to_string(),
        "contacts": export.contacts().await?,
        "numbers": export.numbers(),
        "lastMessages": export.last_messages().await?,
        "conversations": conversations,
        "leads": found.leads.iter().map(|lead| Value::from(lead::details(lead))).collect::<Vec<_>>(),
        "optOuts": found.choices.iter().flat_map(opt_outs).collect::<Vec<_>>(),
        "events": events,
        "files": files,
    });
    if extent == Extent::All {
        person["leadCountRows"] = found.counts.into();
        person["failedRecords"] = export.failed_records(&subjects, &file_ids).await?.into();
    }
    let path = folder.join("person.json");
    let text = serde_json::to_vec_pretty(&person).map_err(|error| Refusal::Output(error.into()))?;
    private::write(&path, &text).map_err(|error| not_written(&path, &error))?;
    Ok(View::new()
        .text("folder", "folder", folder.display())
        .value("contacts", "contacts", found.contacts.len())
        .value("conversations", "conversations", conversations.len())
        .value("leads", "leads", found.leads.len())
        .value("events", "events", events.len())
        .value("files", "files", files.len()))
}

fn not_written(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::File { path: path.display().to_string(), reason: error.to_string() }
}

/// What is exported, kind by kind.
struct Export<'a> {
    store: &'a Store,
    beside: &'a KnownStack,
    workspace: WorkspaceId,
    found: &'a Found,
    now: Timestamp,
    extent: Extent,
}

impl Export<'_> {
    async fn contacts(&self) -> Result<Vec<Value>> {
        let definitions = self.store.definitions(self.workspace).await?;
        let contact = |contact: &Contact| {
            let mut shown = value(&view::contact(contact, &definitions, self.now))?;
            shown["waId"] = json!(contact.wa_id.as_ref().map(WaId::as_str));
            Ok(self.own(shown))
        };
        self.found.contacts.iter().map(contact).collect()
    }

    /// The value without what tells who an agent is, unless everything is exported.
    fn own(&self, mut of: Value) -> Value {
        if let (Extent::Own, Some(fields)) = (self.extent, of.as_object_mut()) {
            fields.remove("ownerId");
        }
        of
    }

    /// The person's numbers, and since when and until when each was the person's.
    fn numbers(&self) -> Vec<Value> {
        let held = self.found.person.numbers.iter().map(|held| {
            let (from, to) = (held.tenure.from.to_string(), held.tenure.to.map(|to| to.to_string()));
            json!({ "cellphone": held.number.as_str(), "contactId": held.tenure.contact.to_string(), "from": from, "to": to })
        });
        held.collect()
    }

    /// When the person last wrote, on each line.
    async fn last_messages(&self) -> Result<Vec<Value>> {
        let mut last_messages = vec![];
        for contact in &self.found.person.contacts {
            for (line, at) in self.store.windows(self.workspace, *contact).await? {
                last_messages.push(json!({
                    "contactId": contact.to_string(), "providerChannelId": line.as_str(), "lastInboundAt": at.to_string(),
                }));
            }
        }
        Ok(last_messages)
    }

    /// The conversations with the person's messages, and the ids of their files.
    async fn conversations(&self) -> Result<(Vec<Value>, Vec<MediaId>)> {
        let (mut conversations, mut files) = (vec![], BTreeSet::new());
        for id in &self.found.conversations {
            let whole = self.store.whole_conversation(self.workspace, *id).await?;
            if whole.conversation.is_none() && whole.messages.is_empty() {
                continue;
            }
            let mut messages = vec![];
            for message in whole.messages.iter().filter(|message| self.shows(message, &whole)) {
                messages.push(self.message(message)?);
                files.extend(message.file_ids());
            }
            let conversation = whole.conversation.as_ref().map(|of| self.conversation(of)).transpose()?;
            let mut shown = json!({
                "id": id.to_string(),
                "conversation": conversation,
                "messages": messages,
                "onboarding": self.onboarding(&whole),
            });
            if self.extent == Extent::All {
                shown["storedAnswer"] = json!(whole.answer.map(|(_, answer)| answer.answer));
            }
            conversations.push(shown);
        }
        Ok((conversations, files.into_iter().collect()))
    }

    /// Whether a message of a conversation is exported: with everything, what an erasure would remove, otherwise what the
    /// person wrote or was sent.
    fn shows(&self, message: &Message, of: &PersonConversation) -> bool {
        let person = &self.found.person;
        let is_alone = of.conversation.as_ref().is_none_or(|conversation| person.is_alone_in(conversation));
        match self.extent {
            Extent::All => is_alone || person.has_message(message, self.now),
            Extent::Own => !is_note(message) && person.has_message(message, self.now),
        }
    }

    /// A conversation. For the person, it has only the person among its participants, and a name only if nobody else takes
    /// part: the name may name others.
    fn conversation(&self, of: &Conversation) -> Result<Value> {
        let person = &self.found.person;
        if self.extent == Extent::All {
            return value(&view::conversation(of));
        }
        let mut own = of.clone();
        own.internals.clear();
        own.externals.retain(|external| person.contacts.contains(&external.contact));
        if !person.is_alone_in(of) {
            own.name = None;
        }
        value(&view::conversation(&own))
    }

    /// A message. For the person, it has only the parts that the person was sent.
    fn message(&self, of: &Message) -> Result<Value> {
        if self.extent == Extent::All {
            return message_value(of);
        }
        let mut own = of.clone();
        own.recipients.retain(|recipient| self.found.person.contacts.contains(&recipient.contact));
        own.parts.retain(|part| self.found.person.contacts.contains(&part.recipient));
        message_value(&own)
    }

    /// The templates that are still to be sent, to the person if nobody else is exported.
    fn onboarding(&self, of: &PersonConversation) -> Vec<Value> {
        let is_mine = |plan: &&OnboardingPlan| {
            let mut recipients = plan.recipients.iter();
            recipients.any(|recipient| self.found.person.contacts.contains(&recipient.contact))
        };
        let plan = of.plan.as_ref().filter(|plan| self.extent == Extent::All || is_mine(plan));
        plan.iter().flat_map(|plan| &plan.steps).map(template).collect()
    }

    /// Writes the bytes of the files into the folder.
    async fn files(&self, ids: &[MediaId], folder: &Path) -> Result<Vec<Value>> {
        let mut files = vec![];
        for media in self.store.media(self.workspace, ids).await? {
            let Some(bytes) = self.beside.media.read(self.workspace, media.id).await? else { continue };
            let name = format!("{}-{}", media.id, media.name.as_str());
            let path = folder.join(&name);
            private::write(&path, &bytes).map_err(|error| not_written(&path, &error))?;
            files.push(json!({
                "id": media.id.to_string(), "name": media.name.as_str(), "contentType": media.content_type, "file": name,
            }));
        }
        Ok(files)
    }

    /// What events of the person can be about.
    fn subjects(&self) -> Vec<Subject> {
        let contacts = self.found.person.contacts.iter().map(|id| Subject::Own(*id.as_uuid()));
        // The events of a conversation show all its participants.
        let conversations = self.found.conversations.iter().filter(|_| self.extent == Extent::All);
        let conversations = conversations.map(|id| Subject::Conversation(*id));
        let leads = self.found.leads.iter().map(|lead| Subject::Own(*lead.id.as_uuid()));
        contacts.chain(conversations).chain(leads).collect()
    }

    async fn events(&self, subjects: &[Subject]) -> Result<Vec<Value>> {
        let (store, workspace, person) = (self.store, self.workspace, &self.found.person);
        let ids = subjects.iter().map(|subject| *subject.id()).collect();
        let mut events = vec![];
        for (id, about) in store.events_about(workspace, &ids, &person.contacts).await? {
            // A subject that has expired is not among those that were found.
            let known = subjects.iter().find(|subject| *subject.id() == id);
            if known.is_none() && self.extent == Extent::Own {
                continue;
            }
            let subject = known.copied().unwrap_or(Subject::Own(id));
            for about in subject.to_redact(about, store, workspace, person, self.now).await? {
                events.push(self.event(&about).await?);
            }
        }
        Ok(events)
    }

    /// An event as it is delivered. With everything, also what receivers answered.
    async fn event(&self, about: &EventAbout) -> Result<Value> {
        let Event { id, at, .. } = about.event;
        let mut body: Value =
            serde_json::from_slice(&about.body).map_err(|error| Refusal::Output(error.into()))?;
        body["payload"] = self.own(body["payload"].take());
        let mut shown = json!({ "eventId": id.to_string(), "at": at.to_string(), "body": body });
        if self.extent == Extent::All {
            shown["deliveries"] = self.deliveries(id).await?.into();
        }
        Ok(shown)
    }

    /// The deliveries of an event, with what receivers answered.
    async fn deliveries(&self, id: EventId) -> Result<Vec<Value>> {
        let (store, workspace) = (self.store, self.workspace);
        let recorded = store.recorded_event(workspace, id).await?;
        let mut deliveries = vec![];
        for slot in recorded.iter().flat_map(|recorded| &recorded.slots) {
            let delivery = DeliveryId { event: id, endpoint: slot.endpoint };
            let Some(found) = store.delivery(workspace, delivery).await? else { continue };
            let answers = store.attempts(&found).await?;
            let answers: Vec<_> =
                answers.iter().map(|attempt| String::from_utf8_lossy(&attempt.answer).into_owned()).collect();
            deliveries.push(json!({
                "deliveryId": delivery.to_string(), "state": found.state.as_str(), "answers": answers,
            }));
        }
        Ok(deliveries)
    }

    /// The person's records in the failure bucket.
    async fn failed_records(&self, subjects: &[Subject], files: &[MediaId]) -> Result<Vec<Value>> {
        let person = &self.found.person;
        let ids = subjects.iter().map(|subject| subject.id().to_string());
        let files = files.iter().map(ToString::to_string);
        let needles = Needles::new(ids.chain(files).chain(person.texts()));
        let bucket = &self.beside.failures;
        let mut records = vec![];
        for failure in bucket.list("").await? {
            let holding = Holding::read(bucket, failure.key, &needles).await?;
            records.extend(holding.into_iter().flat_map(|holding| holding.records));
        }
        Ok(records)
    }
}

fn opt_outs(kept: &Choices) -> impl Iterator<Item = Value> {
    let (cellphone, user) = match &kept.chooser {
        Some(Chooser::Number(number)) => (Some(number.as_str()), None),
        Some(Chooser::User(user)) => (None, Some(user.as_str())),
        None => (None, None),
    };
    kept.outs().map(move |(scope, held)| {
        json!({
            "cellphone": cellphone,
            "userId": user,
            "scope": scope.as_str(),
            "providerChannelId": scope.line().map(ChannelId::as_str),
            "source": held.source.as_str(),
            "since": held.since.to_string(),
        })
    })
}

/// Whether a message is an internal note.
fn is_note(message: &Message) -> bool {
    message.recipients.is_empty() && !matches!(message.content, Content::Received(_))
}

/// A message as the API shows it, with the template of a template message.
fn message_value(message: &Message) -> Result<Value> {
    let mut shown = value(&view::message(message))?;
    if let Content::Template(content) = &message.content {
        shown["template"] = template(content);
    }
    Ok(shown)
}

fn template(requested: &domain::settings::template::TemplateContent) -> Value {
    let parameters: BTreeMap<&str, &str> =
        requested.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    json!({ "templateId": requested.template.to_string(), "parameters": parameters })
}

fn value(of: &impl Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(|error| Refusal::Output(error.into()))
}
