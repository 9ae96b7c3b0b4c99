//! One pass of an erasure. Each step is counted before it erases anything, and each may be repeated.
//!
//! The counts come first because a visit may die anywhere: the next one counts only what is still there, so a row that
//! was deleted before it was counted would be missing from the receipt. The order of the steps matters too. Subjects
//! are marked before anything is deleted, because each deletion is a change that the relay would otherwise record as an
//! event with personal data. Contacts go last of the rows, because conversations and leads are found by them.

use std::collections::BTreeSet;

use domain::{ContactId, ConversationId, Erasure, LeadId, MediaId, Message, MessageId, Person, WorkspaceId};
use edge::view;
use store::{
    ErasedMessages, EventAbout, Found, PersonConversation, RetryTime, Store, StoreError, Target, TargetKind,
};
use uuid::Uuid;

use crate::contact_erased;
use crate::events::{AFTER, Subject};
use crate::failures::{Holding, Needles};
use crate::job::Job;
use crate::stop::{Result, Stop};

/// The namespace of the ids that stand for objects of the failure bucket.
const OBJECTS: Uuid = Uuid::from_u128(0xc64a_0f3e_81b7_4d29_9e05_7ab1_f2d8_6c13);

/// What a pass has to process.
pub(crate) fn targets(erasure: &Erasure, found: &Found) -> Vec<Target> {
    let mut of: Vec<(TargetKind, Uuid)> = vec![(TargetKind::Numbers, *erasure.id.as_uuid())];
    of.extend(found.leads.iter().map(|lead| (TargetKind::Lead, *lead.id.as_uuid())));
    of.extend(found.conversations.iter().map(|id| (TargetKind::Conversation, *id.as_uuid())));
    of.extend(found.person.contacts.iter().map(|id| (TargetKind::Contact, *id.as_uuid())));
    let subjects = of.clone().into_iter().filter(|(kind, _)| *kind != TargetKind::Numbers);
    let subjects: Vec<_> = subjects.map(|(_, id)| (TargetKind::Events, id)).collect();
    of.extend(subjects);
    of.into_iter().map(|(kind, id)| Target::new(erasure.pass, kind, id)).collect()
}

/// One pass over everything that was found in this pass or before.
pub(crate) struct Pass<'a, 'j> {
    pub(crate) job: &'a Job<'j, Erasure>,
    pub(crate) person: Person,
    pub(crate) targets: Vec<Target>,
}

impl Pass<'_, '_> {
    pub(crate) async fn run(&mut self, found: &Found) -> Result {
        self.targets = self.store().targets(self.erasure()).await?;
        for subject in self.left(TargetKind::Events) {
            self.job.has_time()?;
            self.mark(self.subject(subject)).await?;
        }
        for lead in self.left(TargetKind::Lead) {
            self.job.has_time()?;
            self.lead(LeadId::from_uuid(lead)).await?;
            self.done(TargetKind::Lead, lead).await?;
        }
        for conversation in self.left(TargetKind::Conversation) {
            self.job.has_time()?;
            self.conversation(ConversationId::from_uuid(conversation)).await?;
            self.done(TargetKind::Conversation, conversation).await?;
        }
        // A URL that was signed before may have uploaded a file again. Files were found since the targets were read.
        self.targets = self.store().targets(self.erasure()).await?;
        for file in self.left(TargetKind::File) {
            self.job.has_time()?;
            self.file(MediaId::from_uuid(file)).await?;
            self.done(TargetKind::File, file).await?;
        }
        for contact in self.left(TargetKind::Contact) {
            self.job.has_time()?;
            self.contact(ContactId::from_uuid(contact)).await?;
        }
        self.numbers(found).await?;
        self.failures().await?;
        self.all_events().await?;
        // A target that was counted in this pass existed. The others were found by an earlier pass, or never existed, and
        // `contact.erased` of those was recorded then, or must not be.
        self.targets = self.store().targets(self.erasure()).await?;
        let is_erased = |target: &&Target| {
            (target.pass, target.kind) == (self.erasure().pass, TargetKind::Contact)
                && target.counts.is_some()
        };
        for contact in self.targets.iter().filter(is_erased) {
            let queues = &self.job.invocation.engine.queues;
            let contact = ContactId::from_uuid(contact.id);
            contact_erased::record(self.store(), queues, self.erasure(), contact).await?;
        }
        Ok(())
    }

    fn store(&self) -> &Store {
        self.job.store()
    }

    fn erasure(&self) -> &Erasure {
        &self.job.of
    }

    fn workspace(&self) -> WorkspaceId {
        self.erasure().workspace_id
    }

    /// The ids of the targets of a kind, each once.
    fn ids(&self, kind: TargetKind) -> BTreeSet<Uuid> {
        self.targets.iter().filter(|target| target.kind == kind).map(|target| target.id).collect()
    }

    /// Those of them that this pass has not finished.
    fn left(&self, kind: TargetKind) -> BTreeSet<Uuid> {
        let is_done =
            |target: &&Target| target.is_done && target.kind == kind && target.pass == self.erasure().pass;
        let done: BTreeSet<Uuid> = self.targets.iter().filter(is_done).map(|target| target.id).collect();
        self.ids(kind).difference(&done).copied().collect()
    }

    fn target(&self, kind: TargetKind, id: Uuid) -> Target {
        Target::new(self.erasure().pass, kind, id)
    }

    async fn count(&self, kind: TargetKind, id: &Uuid, counts: &[(&str, u64)]) -> Result {
        if counts.iter().any(|(_, count)| *count > 0) {
            self.store().count_target(self.erasure(), &self.target(kind, *id), counts).await?;
        }
        Ok(())
    }

    async fn done(&self, kind: TargetKind, id: Uuid) -> Result {
        Ok(self.store().finish_target(self.erasure(), &self.target(kind, id)).await?)
    }

    async fn lead(&self, id: LeadId) -> Result {
        let Some(lead) = self.store().lead(self.workspace(), id).await? else { return Ok(()) };
        self.count(TargetKind::Lead, id.as_uuid(), &[("leads", 1), ("consents", 1)]).await?;
        Ok(self.store().erase_lead(&lead).await?)
    }

    async fn conversation(&self, id: ConversationId) -> Result {
        let mut retries = RetryTime::new(self.store());
        loop {
            let whole = self.store().whole_conversation(self.workspace(), id).await?;
            if self.erase_conversation(id, &whole).await? {
                break;
            }
            retries.wait().await?;
        }
        // The rows of left conversations go last. Until then they lead the next visit to this conversation.
        for contact in &self.person.contacts {
            self.store().forget_left(self.workspace(), *contact, id).await?;
        }
        Ok(())
    }

    /// Returns `false` if the conversation was changed since it was read.
    async fn erase_conversation(&self, id: ConversationId, whole: &PersonConversation) -> Result<bool> {
        let (store, person) = (self.store(), &self.person);
        let erased = self.erased_messages(whole);
        let is_alone = self.is_alone(whole);
        let files: BTreeSet<MediaId> = erased.iter().flat_map(|message| message.file_ids()).collect();
        // In a conversation that stays, the person leaves after the request. So the event of the leaving is after the moment
        // up to which the events of this conversation are redacted, and the others' events stay readable.
        let now = store.now().max(self.erasure().asked_at.plus(AFTER));
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
            store.add_target(self.erasure(), &self.target(TargetKind::File, *file.as_uuid())).await?;
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
        self.job.invocation.engine.media.erase(self.workspace(), id).await?;
        Ok(self.store().erase_media(self.workspace(), id).await?)
    }

    /// Whether the conversation is erased as a whole, because the person is its only customer. If its row is already deleted,
    /// an earlier pass decided so, and what is left of it is erased too.
    fn is_alone(&self, whole: &PersonConversation) -> bool {
        whole.conversation.as_ref().is_none_or(|conversation| self.person.is_alone_in(conversation))
    }

    fn has_plan(&self, whole: &PersonConversation) -> bool {
        let is_mine = |contact: &ContactId| self.person.contacts.contains(contact);
        let mut plan = whole.plan.iter();
        plan.any(|plan| plan.recipients.iter().any(|recipient| is_mine(&recipient.contact)))
    }

    /// The messages that are erased: all of a conversation that is erased as a whole, otherwise those to and from the person,
    /// and internal notes from before the request.
    fn erased_messages<'m>(&self, whole: &'m PersonConversation) -> Vec<&'m Message> {
        let (is_alone, asked_at) = (self.is_alone(whole), self.erasure().asked_at);
        let is_erased = |message: &&Message| is_alone || self.person.has_message(message, asked_at);
        whole.messages.iter().filter(is_erased).collect()
    }

    async fn contact(&self, id: ContactId) -> Result {
        let mut retries = RetryTime::new(self.store());
        while let Some(contact) = self.store().contact(self.workspace(), id).await? {
            let counts = [("contacts", 1), ("searchRows", Store::rows_of_contact(&contact)? - 1)];
            self.count(TargetKind::Contact, id.as_uuid(), &counts).await?;
            if self.store().erase_contact(&contact).await? {
                break;
            }
            retries.wait().await?;
        }
        // Also if there is no contact: a message that was stored meanwhile may have written them again.
        self.store().erase_windows(self.workspace(), id).await?;
        self.store().erase_merged(self.workspace(), id).await?;
        self.store().erase_conflicts(self.workspace(), id).await?;
        Ok(self.store().erase_earlier_numbers(self.workspace(), id).await?)
    }

    /// The rows under the person's numbers and ids. An opt-out stays in force, without its number or id: if it were deleted,
    /// the person would get templates again.
    async fn numbers(&self, found: &Found) -> Result {
        let outs = found.choices.iter().filter(|kept| kept.outs().next().is_some());
        let counts = [("optOuts", outs.count() as u64), ("counts", found.counts)];
        self.count(TargetKind::Numbers, self.erasure().id.as_uuid(), &counts).await?;
        for chooser in found.choices.iter().filter_map(|kept| kept.chooser.clone()) {
            self.store().hide_opt_out(self.workspace(), chooser).await?;
        }
        for cellphone in Person::by_phone(self.person.own_numbers()).into_values() {
            self.store().erase_counts(self.workspace(), cellphone).await?;
        }
        for cellphone in self.person.own_numbers() {
            self.store().erase_stray_hints(self.workspace(), cellphone).await?;
        }
        Ok(())
    }

    /// The person's records in the failure bucket.
    async fn failures(&self) -> Result {
        let bucket = &self.job.invocation.engine.failures;
        let ids = self.targets.iter().filter(|target| target.kind.is_in_records());
        let ids = ids.map(|target| target.id.to_string());
        let needles = Needles::new(ids.chain(self.person.texts()));
        for failure in bucket.list("").await? {
            self.job.has_time()?;
            let holding = Holding::read(bucket, failure.key, &needles).await;
            let Some(holding) = holding.map_err(Stop::from)? else { continue };
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
        let asked_at = self.erasure().asked_at;
        let before = subject.events_before(self.store(), self.workspace(), &self.person, asked_at).await?;
        Ok(self.store().mark_erased(self.workspace(), subject.id(), before).await?)
    }

    /// Redacts the events about all subjects. They are redacted after their subjects are gone: from then on, no change makes
    /// a new event with the person's data.
    async fn all_events(&self) -> Result {
        let subjects = self.ids(TargetKind::Events);
        let left = self.left(TargetKind::Events);
        let about = self.store().events_about(self.workspace(), &subjects, &self.person.contacts).await?;
        for (subject, about) in about {
            if subjects.contains(&subject) && !left.contains(&subject) {
                continue;
            }
            self.job.has_time()?;
            // A subject that has expired was not found before.
            self.store().add_target(self.erasure(), &self.target(TargetKind::Events, subject)).await?;
            self.events(self.subject(subject), about).await?;
            self.done(TargetKind::Events, subject).await?;
        }
        Ok(())
    }

    /// Redacts the events about a subject.
    async fn events(&self, subject: Subject, about: Vec<EventAbout>) -> Result {
        let (store, workspace, asked_at) = (self.store(), self.workspace(), self.erasure().asked_at);
        let events = subject.to_redact(about, store, workspace, &self.person, asked_at).await?;
        let notes = events.iter().map(|about| view::redacted_body(&about.event));
        let notes = notes.collect::<std::result::Result<Vec<_>, _>>();
        let notes = notes.map_err(|error| StoreError::Failed(error.into()))?;
        // A visit that was running during the first pass may have stored an answer, so the second redacts again.
        let new: Vec<&EventAbout> = events
            .iter()
            .zip(&notes)
            .filter(|(about, note)| about.body != **note)
            .map(|(about, _)| about)
            .collect();
        let deliveries = new.iter().map(|about| about.deliveries as u64).sum();
        let counts = [("events", new.len() as u64), ("deliveries", deliveries)];
        let is_last = self.erasure().pass == 2;
        self.count(TargetKind::Events, subject.id(), &counts).await?;
        for (EventAbout { event, .. }, note) in events.iter().zip(&notes) {
            self.job.has_time()?;
            store.redact_event(event, note, is_last).await?;
        }
        Ok(())
    }
}
