//! Exports what is kept of a person: a folder with `person.json` and the person's files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::inbound::opt_out::Chooser;
use domain::message::Content;
use domain::{DeliveryId, Event, Message, Person, ProviderUserId, WaId, WorkspaceId};
use edge::view;
use serde::Serialize;
use serde_json::{Value, json};
use store::{EventAbout, Store};

use crate::beside::KnownStack;
use crate::lead;
use crate::person::erase::files_of;
use crate::person::events::Subject;
use crate::person::failures::{Holding, Needles};
use crate::person::finding::find;
use crate::view::View;
use crate::{Console, Refusal, Result};

/// Writes everything that an erasure of the person would remove into a new folder.
pub(crate) async fn export(
    console: &Console,
    beside: &KnownStack,
    workspace: WorkspaceId,
    asked: Person,
    folder: &Path,
) -> Result<View> {
    let (store, now) = (&console.store, console.store.now());
    let found = find(console, workspace, asked).await?;
    if found.is_empty() {
        return Err(Refusal::NobodyFound);
    }
    let refused = |path: &Path, error: std::io::Error| Refusal::File {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    std::fs::create_dir(folder).map_err(|error| refused(folder, error))?;
    let definitions = store.definitions(workspace).await?;
    let mut contacts = vec![];
    for contact in &found.contacts {
        let mut shown = value(&view::contact(contact, &definitions, now))?;
        shown["userId"] = json!(contact.user_id.as_ref().map(ProviderUserId::as_str));
        shown["waId"] = json!(contact.wa_id.as_ref().map(WaId::as_str));
        contacts.push(shown);
    }
    let mut last_messages = vec![];
    for contact in &found.person.contacts {
        for (line, at) in store.windows(workspace, *contact).await? {
            last_messages.push(json!({
                "contactId": contact.to_string(), "providerChannelId": line.as_str(), "lastInboundAt": at.to_string(),
            }));
        }
    }
    let mut leads = vec![];
    for lead in &found.leads {
        leads.push(Value::from(lead::details(lead)));
    }
    let (mut conversations, mut files) = (vec![], BTreeSet::new());
    for id in &found.conversations {
        let whole = store.whole_conversation(workspace, *id).await?;
        if whole.conversation.is_none() && whole.messages.is_empty() {
            continue;
        }
        let conversation = whole.conversation.as_ref();
        let is_alone = conversation.is_none_or(|conversation| found.person.is_alone_in(conversation));
        let mut messages = vec![];
        for message in whole.messages.iter().filter(|said| is_alone || found.person.has_message(said, now)) {
            messages.push(message_value(message)?);
            for file in files_of(message) {
                files.insert(file);
            }
        }
        conversations.push(json!({
            "id": id.to_string(),
            "conversation": conversation.map(|conversation| value(&view::conversation(conversation))).transpose()?,
            "messages": messages,
            "onboarding": whole.plan.iter().flat_map(|plan| &plan.steps).map(template).collect::<Vec<_>>(),
            "storedAnswer": whole.answer.map(|(_, answer)| answer.answer),
        }));
    }
    let mut shown_files = vec![];
    let ids: Vec<_> = files.into_iter().collect();
    for media in store.media(workspace, &ids).await? {
        let Some(bytes) = beside.media.read(workspace, media.id).await? else { continue };
        let name = format!("{}-{}", media.id, media.name.as_str());
        let path = folder.join(&name);
        std::fs::write(&path, bytes).map_err(|error| refused(&path, error))?;
        shown_files.push(json!({
            "id": media.id.to_string(), "name": media.name.as_str(), "contentType": media.content_type, "file": name,
        }));
    }
    let of_contacts = found.person.contacts.iter().map(|id| Subject::Own(*id.as_uuid()));
    let of_conversations = found.conversations.iter().map(|id| Subject::Conversation(*id));
    let of_leads = found.leads.iter().map(|lead| Subject::Own(*lead.id.as_uuid()));
    let subjects: Vec<Subject> = of_contacts.chain(of_conversations).chain(of_leads).collect();
    let mut events = vec![];
    let ids_of_subjects = subjects.iter().map(|subject| *subject.id()).collect();
    for (id, about) in store.events_about(workspace, &ids_of_subjects, &found.person.contacts).await? {
        // A subject that has expired is not among those that were found.
        let known = subjects.iter().find(|subject| *subject.id() == id);
        let subject = known.copied().unwrap_or(Subject::Own(id));
        for about in subject.to_redact(about, store, workspace, &found.person, now).await? {
            events.push(event(store, workspace, &about).await?);
        }
    }
    let files_in_records = ids.iter().map(ToString::to_string);
    let numbers = found.person.cellphones.iter().map(|cellphone| cellphone.as_str().to_owned());
    let addresses = found.person.emails.iter().map(|email| email.canonical());
    let ids = subjects.iter().map(|subject| subject.id().to_string()).chain(files_in_records);
    let user_ids = found.person.user_ids.iter().map(|user_id| user_id.as_str().to_owned());
    let needles = Needles::new(ids.chain(numbers).chain(addresses).chain(user_ids));
    let mut records = vec![];
    for failure in beside.failures.list("").await? {
        records
            .extend(Holding::read(&beside.failures, failure.key, &needles).await?.map(|found| found.records));
    }
    let opt_outs = found.opt_outs.iter().map(|opt_out| {
        let (cellphone, user) = match &opt_out.chooser {
            Some(Chooser::Number(number)) => (Some(number.as_str()), None),
            Some(Chooser::User(user)) => (None, Some(user.as_str())),
            None => (None, None),
        };
        let (source, since) = (opt_out.source.as_str(), opt_out.since.to_string());
        json!({ "cellphone": cellphone, "userId": user, "source": source, "since": since })
    });
    let person = json!({
        "workspaceId": workspace.to_string(),
        "exportedAt": now.to_string(),
        "contacts": contacts,
        "lastMessages": last_messages,
        "conversations": conversations,
        "leads": leads,
        "leadCountRows": found.counts,
        "optOuts": opt_outs.collect::<Vec<_>>(),
        "events": events,
        "failedRecords": records.concat(),
        "files": shown_files,
    });
    let path = folder.join("person.json");
    let text = serde_json::to_vec_pretty(&person).map_err(|error| Refusal::Output(error.into()))?;
    std::fs::write(&path, text).map_err(|error| refused(&path, error))?;
    Ok(View::new()
        .text("folder", "folder", folder.display())
        .value("contacts", "contacts", found.contacts.len())
        .value("conversations", "conversations", conversations.len())
        .value("leads", "leads", found.leads.len())
        .value("events", "events", events.len())
        .value("files", "files", shown_files.len()))
}

/// An event as it is delivered, with what receivers answered.
async fn event(store: &Store, workspace: WorkspaceId, about: &EventAbout) -> Result<Value> {
    let Event { id, at, .. } = about.event;
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
    let body: Value = serde_json::from_slice(&about.body).map_err(|error| Refusal::Output(error.into()))?;
    Ok(json!({ "eventId": id.to_string(), "at": at.to_string(), "body": body, "deliveries": deliveries }))
}

/// A message as the API shows it, with the template of a template message.
fn message_value(message: &Message) -> Result<Value> {
    let mut shown = value(&view::message(message))?;
    if let Content::Template(requested) = &message.content {
        shown["template"] = template(requested);
    }
    Ok(shown)
}

fn template(requested: &domain::settings::template::Requested) -> Value {
    let parameters: BTreeMap<&str, &str> =
        requested.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    json!({ "templateId": requested.template.to_string(), "parameters": parameters })
}

fn value(of: &impl Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(|error| Refusal::Output(error.into()))
}
