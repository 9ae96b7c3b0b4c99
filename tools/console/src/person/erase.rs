//! Erases a person in two passes. Each step is counted before it erases anything, and each may be repeated.
//!
//! The counts come first because a command may die anywhere: the next command counts only what is still there, so a row that
//! was deleted before it was counted would be missing from the receipt. The order of the steps in a pass matters
//! too. Subjects are marked before anything is deleted, because each deletion is a change that the relay would otherwise
//! record as an event with personal data. Contacts go last of the rows, because conversations and leads are found by them:
//! if the command dies before, the next one finds the rest again.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    ContactId, ConversationId, Erasure, ErasureState, LeadId, MediaId, Message, MessageId, Person,
    WorkspaceId,
};
use edge::view;
use store::{ErasedMessages, EventAbout, Found, PersonConversation, Store, Target, TargetKind};
use uuid::Uuid;

use crate::beside::KnownStack;
use crate::changed::{Decision, changed};
use crate::person::contact_erased;
use crate::person::events::{AFTER, Subject};
use crate::person::failures::{Holding, Needles};
use crate::{Console, Refusal, Result};

/// The namespace of the ids that stand for objects of the failure bucket.
const OBJECTS: Uuid = Uuid::from_u128(0xc64a_0f3e_81b7_4d29_9e05_7ab1_f2d8_6c13);

/// Begins the erasure of a person, or continues it. Returns it as it is at the end of the command.
pub(crate) async fn erase(
    console: &Console,
    beside: &KnownStack,
    workspace: WorkspaceId,
    asked: Person,
) -> Result<Erasure> {
    let store = &console.store;
    let erasures = store.erasures(workspace).await?;
    let found = store.find_person(workspace, asked).await?;
    let of_person = || erasures.iter().rev().filter(|erasure| erasure.is_of(&found.person));
    match of_person().find(|erasure| erasure.state != ErasureState::Done) {
        // Requests that began before the first pass may still be running, and may still write. A second pass that starts
        // too early would miss what they write, so an early repeat of the command changes nothing.
        Some(unfinished) if unfinished.second_pass_at().is_some_and(|at| store.now() < at) => {
            Ok(unfinished.clone())
        }
        // The first pass may have deleted the row that led from one number to another. So the second pass looks for what is
        // found now and for what the first one knew.
        Some(unfinished) => {
            let mut person = found.person.and(&unfinished.person);
            // The contact of a number is gone, so the number alone would now mean leads that belonged to nobody.
            person.unheld.clone_from(&unfinished.person.unheld);
            person.contacts.extend(store.returned(workspace, &person, unfinished.asked_at).await?);
            let found = store.find_person(workspace, person).await?;
            pass(console, beside, unfinished.clone(), found).await
        }
        None if found.is_empty() => {
            let done = of_person().next().ok_or(Refusal::NobodyFound)?;
            // The command that finished it may have died before it deleted these.
            store.drop_targets(done, &store.targets(done).await?).await?;
            Ok(done.clone())
        }
        None => {
            let new = Erasure::of(found.person.clone(), workspace, store.now());
            pass(console, beside, kept(store, new).await?, found).await
        }
    }
}

async fn kept(store: &Store, next: Erasure) -> Result<Erasure> {
    match store.keep_erasure(&next).await? {
        true => Ok(next),
        false => Err(Refusal::Contended),
    }
}

/// One pass over everything that was found now or before.
async fn pass(console: &Console, beside: &KnownStack, mut erasure: Erasure, found: Found) -> Result<Erasure> {
    let store = &console.store;
    // The row keeps all that is known of the person before anything is deleted: afterwards nothing leads to it.
    if found.person != erasure.person {
        erasure = kept(store, erasure.knowing(found.person.clone())).await?;
    }
    for target in targets(&erasure, &found) {
        store.add_target(&erasure, &target).await?;
    }
    let pass = Pass { store, beside, targets: store.targets(&erasure).await?, erasure };
    for subject in pass.ids(TargetKind::Events) {
        pass.mark(pass.subject(subject)).await?;
    }
    for lead in pass.ids(TargetKind::Lead) {
        pass.lead(LeadId::from_uuid(lead)).await?;
    }
    for conversation in pass.ids(TargetKind::Conversation) {
        pass.conversation(ConversationId::from_uuid(conversation)).await?;
    }
    // A URL that was signed before may have uploaded a file again.
    for file in pass.ids(TargetKind::File) {
        pass.file(MediaId::from_uuid(file)).await?;
    }
    for contact in pass.ids(TargetKind::Contact) {
        pass.contact(ContactId::from_uuid(contact)).await?;
    }
    pass.numbers(&found).await?;
    pass.failures().await?;
    // Events are redacted after their subjects are gone. From then on, no change makes a new event with the person's data.
    let subjects = pass.ids(TargetKind::Events);
    for (subject, about) in store.events_about(pass.workspace(), &subjects, &pass.person().contacts).await? {
        // A subject that has expired was not found before.
        store
            .add_target(&pass.erasure, &Target::new(pass.erasure.pass(), TargetKind::Events, subject))
            .await?;
        pass.events(pass.subject(subject), about).await?;
    }
    let Pass { erasure, .. } = pass;
    let targets = store.targets(&erasure).await?;
    // A target that was counted in this pass existed. The others were found by an earlier pass, or never existed, and
    // `contact.erased` of those was recorded then, or must not be.
    let is_erased = |target: &&Target| {
        (target.pass, target.kind) == (erasure.pass(), TargetKind::Contact) && target.counts.is_some()
    };
    for contact in targets.iter().filter(is_erased) {
        contact_erased::record(console, &erasure, ContactId::from_uuid(contact.id)).await?;
    }
    let mut counts = BTreeMap::new();
    for (kind, count) in targets.iter().flat_map(|target| target.counts.iter().flatten()) {
        *counts.entry(kind.clone()).or_default() += count;
    }
    let passed = kept(store, erasure.passed(counts, store.now())).await?;
    if passed.state == ErasureState::Done {
        store.drop_targets(&passed, &targets).await?;
    }
    Ok(passed)
}

/// What a pass has to process.
fn targets(erasure: &Erasure, found: &Found) -> Vec<Target> {
    let mut of: Vec<(TargetKind, Uuid)> = vec![(TargetKind::Numbers, *erasure.id.as_uuid())];
    of.extend(found.leads.iter().map(|lead| (TargetKind::Lead, *lead.id.as_uuid())));
    of.extend(found.conversations.iter().map(|id| (TargetKind::Conversation, *id.as_uuid())));
    of.extend(found.person.contacts.iter().map(|id| (TargetKind::Contact, *id.as_uuid())));
    let subjects = of.clone().into_iter().filter(|(kind, _)| *kind != TargetKind::Numbers);
    let subjects: Vec<_> = subjects.map(|(_, id)| (TargetKind::Events, id)).collect();
    of.extend(subjects);
    of.into_iter().map(|(kind, id)| Target::new(erasure.pass(), kind, id)).collect()
}

/// One pass of an erasure.
struct Pass<'a> {
    store: &'a Store,
    beside: &'a KnownStack,
    erasure: Erasure,
    /// What this pass and the one before found.
    targets: Vec<Target>,
}

impl Pass<'_> {
    fn workspace(&self) -> WorkspaceId {
        self.erasure.workspace_id
    }

    fn person(&self) -> &Person {
        &self.erasure.person
    }

    /// The ids of the targets of a kind, each once.
    fn ids(&self, kind: TargetKind) -> BTreeSet<Uuid> {
        self.targets.iter().filter(|target| target.kind == kind).map(|target| target.id).collect()
    }

    async fn count(&self, kind: TargetKind, id: &Uuid, counts: &[(&str, u64)]) -> Result {
        if counts.iter().any(|(_, count)| *count > 0) {
            let target = Target::new(self.erasure.pass(), kind, *id);
            self.store.count_target(&self.erasure, &target, counts).await?;
        }
        Ok(())
    }

    async fn lead(&self, id: LeadId) -> Result {
        let Some(lead) = self.store.lead(self.workspace(), id).await? else { return Ok(()) };
        self.count(TargetKind::Lead, id.as_uuid(), &[("leads", 1), ("consents", 1)]).await?;
        Ok(self.store.erase_lead(&lead).await?)
    }

    async fn conversation(&self, id: ConversationId) -> Result {
        changed(
            async || Ok(self.store.whole_conversation(self.workspace(), id).await?),
            |_| Ok(Decision::Changed(())),
            async |whole, ()| self.erase_conversation(id, whole).await,
        )
        .await?;
        // The rows of left conversations go last. Until then they lead the next command to this conversation.
        for contact in &self.person().contacts {
            self.store.forget_left(self.workspace(), *contact, id).await?;
        }
        Ok(())
    }

    /// Returns `false` if the conversation was changed since it was read.
    async fn erase_conversation(&self, id: ConversationId, whole: &PersonConversation) -> Result<bool> {
        let (store, person) = (self.store, self.person());
        let erased = self.erased_messages(whole);
        let is_alone = self.is_alone(whole);
        let files: BTreeSet<MediaId> = erased.iter().flat_map(|message| files_of(message)).collect();
        // In a conversation that stays, the person leaves after the request. So the event of the leaving is after the moment
        // up to which the events of this conversation are redacted, and the others' events stay readable.
        let now = store.now().max(self.erasure.asked_at.plus(AFTER));
        let left = whole.conversation.as_ref().and_then(|conversation| person.left(conversation, now));
        let is_whole = is_alone && whole.conversation.is_some();
        let counts = [
            ("conversations", u64::from(is_whole)),
            ("participants", u64::from(!is_alone && left.is_some())),
            ("answers", u64::from(whole.answer.is_some())),
            ("plans", u64::from(self.has_plan(whole))),
            ("messages", erased.len() as u64),
            ("files", files.len() as u64),
        ];
        self.count(TargetKind::Conversation, id.as_uuid(), &counts).await?;
        // Each file is a target of its own, because a URL that was signed before may upload it again between the passes.
        for file in files {
            let target = Target::new(self.erasure.pass(), TargetKind::File, *file.as_uuid());
            store.add_target(&self.erasure, &target).await?;
            self.file(file).await?;
        }
        let messages: BTreeSet<MessageId> = erased.iter().map(|message| message.id).collect();
        let which = match is_alone {
            true => ErasedMessages::All,
            false => ErasedMessages::Only(&messages, &person.contacts),
        };
        store.erase_messages(whole, which).await?;
        let seen = (!is_alone).then_some(&person.contacts);
        store.erase_seen(self.workspace(), id, seen).await?;
        store.erase_answer(whole).await?;
        Ok(match (&whole.conversation, left) {
            (Some(conversation), _) if is_alone => store.erase_conversation(conversation).await?,
            (Some(conversation), Some(left)) => store.leave_conversation(conversation, &left).await?,
            _ => true,
        })
    }

    /// The bytes and the row of a file.
    async fn file(&self, id: MediaId) -> Result {
        self.beside.media.erase(self.workspace(), id).await?;
        Ok(self.store.erase_media(self.workspace(), id).await?)
    }

    /// Whether the conversation is erased as a whole, because the person is its only customer. If its row is already deleted,
    /// an earlier pass decided so, and what is left of it is erased too.
    fn is_alone(&self, whole: &PersonConversation) -> bool {
        whole.conversation.as_ref().is_none_or(|conversation| self.person().is_alone_in(conversation))
    }

    fn has_plan(&self, whole: &PersonConversation) -> bool {
        let is_mine = |contact: &ContactId| self.person().contacts.contains(contact);
        let mut plan = whole.plan.iter();
        plan.any(|plan| plan.recipients.iter().any(|recipient| is_mine(&recipient.contact)))
    }

    /// The messages that are erased: all of a conversation that is erased as a whole, otherwise those to and from the person,
    /// and internal notes from before the request.
    fn erased_messages<'m>(&self, whole: &'m PersonConversation) -> Vec<&'m Message> {
        let (is_alone, asked_at) = (self.is_alone(whole), self.erasure.asked_at);
        let is_erased = |message: &&Message| is_alone || self.person().has_message(message, asked_at);
        whole.messages.iter().filter(is_erased).collect()
    }

    async fn contact(&self, id: ContactId) -> Result {
        changed(
            async || Ok(self.store.contact(self.workspace(), id).await?),
            |contact| Ok(if contact.is_some() { Decision::Changed(()) } else { Decision::Unchanged(()) }),
            async |contact, ()| {
                let Some(contact) = contact else { return Ok(true) };
                let counts = [("contacts", 1), ("searchRows", Store::rows_of_contact(contact)? - 1)];
                self.count(TargetKind::Contact, id.as_uuid(), &counts).await?;
                Ok::<_, Refusal>(self.store.erase_contact(contact).await?)
            },
        )
        .await?;
        // Also if there is no contact: a message that was stored meanwhile may have written them again.
        self.store.erase_windows(self.workspace(), id).await?;
        Ok(self.store.erase_earlier_numbers(self.workspace(), id).await?)
    }

    /// The rows under the person's numbers and ids. An opt-out stays in force, without its number or id: if it were deleted, the
    /// person would get templates again.
    async fn numbers(&self, found: &Found) -> Result {
        let outs = found.choices.iter().filter(|kept| kept.outs().next().is_some());
        let counts = [("optOuts", outs.count() as u64), ("counts", found.counts)];
        self.count(TargetKind::Numbers, self.erasure.id.as_uuid(), &counts).await?;
        for chooser in found.choices.iter().filter_map(|kept| kept.chooser.clone()) {
            self.store.hide_opt_out(self.workspace(), chooser).await?;
        }
        for cellphone in Person::by_phone(self.person().own_numbers()).into_values() {
            self.store.erase_counts(self.workspace(), cellphone).await?;
        }
        for cellphone in self.person().own_numbers() {
            self.store.erase_stray_hints(self.workspace(), cellphone).await?;
        }
        Ok(())
    }

    /// The person's records in the failure bucket.
    async fn failures(&self) -> Result {
        let bucket = &self.beside.failures;
        let person = self.person();
        // Files were found since the targets were read.
        let targets = self.store.targets(&self.erasure).await?;
        let ids = targets.iter().filter(|target| target.kind.is_in_records());
        let ids = ids.map(|target| target.id.to_string());
        let needles = Needles::new(ids.chain(person.texts()));
        for failure in bucket.list("").await? {
            let Some(holding) = Holding::read(bucket, failure.key, &needles).await? else { continue };
            let id = Uuid::new_v5(&OBJECTS, holding.key.as_bytes());
            let count = [("failedRecords", holding.records.len() as u64)];
            self.count(TargetKind::Failure, &id, &count).await?;
            holding.erase(bucket).await?;
        }
        Ok(())
    }

    /// The subject with this id.
    fn subject(&self, id: Uuid) -> Subject {
        match self.ids(TargetKind::Conversation).contains(&id) {
            true => Subject::Conversation(ConversationId::from_uuid(id)),
            false => Subject::Own(id),
        }
    }

    /// Marks a subject, so that the relay records nothing of the person from now on.
    async fn mark(&self, subject: Subject) -> Result {
        let Erasure { person, asked_at, .. } = &self.erasure;
        let before = subject.events_before(self.store, self.workspace(), person, *asked_at).await?;
        Ok(self.store.mark_erased(self.workspace(), subject.id(), before).await?)
    }

    /// Redacts the events about a subject.
    async fn events(&self, subject: Subject, about: Vec<EventAbout>) -> Result {
        let (store, workspace, Erasure { person, asked_at, .. }) =
            (self.store, self.workspace(), &self.erasure);
        let events = subject.to_redact(about, store, workspace, person, *asked_at).await?;
        let notes = events.iter().map(|about| view::redacted_body(&about.event));
        let notes = notes.collect::<Result<Vec<_>, _>>().map_err(|error| Refusal::Output(error.into()))?;
        // A visit that was running during the first pass may have stored an answer, so the second redacts again.
        let new: Vec<&EventAbout> = events
            .iter()
            .zip(&notes)
            .filter(|(about, note)| about.body != **note)
            .map(|(about, _)| about)
            .collect();
        let deliveries = new.iter().map(|about| about.deliveries as u64).sum();
        let counts = [("events", new.len() as u64), ("deliveries", deliveries)];
        let is_last = self.erasure.pass() == 2;
        self.count(TargetKind::Events, subject.id(), &counts).await?;
        for (EventAbout { event, .. }, note) in events.iter().zip(&notes) {
            store.redact_event(event, note, is_last).await?;
        }
        Ok(())
    }
}

/// The files of a message.
pub(crate) fn files_of(message: &Message) -> Vec<MediaId> {
    message.files().iter().map(|file| file.media).collect()
}
