//! The states of an erasure and of a preview, and what a visit does in each of them.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::person::erasure::{ContactPreview, Preview};
use domain::{ContactId, Erasure, ErasureState, Person, Rest};
use store::{Found, Target};

use crate::job::Job;
use crate::pass::{Pass, targets};
use crate::stop::Result;

/// How many jobs of a workspace run at the same time.
const AT_ONCE: usize = 4;
/// How long a job waits until others of its workspace are done.
const TURN: Duration = Duration::from_mins(1);

impl Job<'_, Erasure> {
    /// Works until the job is over, or waits.
    pub(crate) async fn work(&mut self) -> Result<Rest> {
        loop {
            self.has_time()?;
            match self.of.state {
                ErasureState::Asked => match self.has_turn().await? {
                    true => self.keep(self.of.finding(), None).await?,
                    false => return Ok(Rest::Closed(self.now().plus(TURN))),
                },
                ErasureState::Finding => {
                    if !self.find().await? {
                        return Ok(Rest::Closed(self.now().plus(TURN)));
                    }
                }
                ErasureState::Erasing => self.erase().await?,
                ErasureState::Settling => {
                    let begins = self.of.second_pass_at(self.invocation.engine.rules.settle);
                    if self.now() < begins {
                        return Ok(Rest::Closed(begins));
                    }
                    self.keep(self.of.finding(), None).await?;
                }
                ErasureState::Done => {
                    // A visit that died after it stored the receipt stores the same one again.
                    self.finish().await?;
                    return Ok(Rest::Done);
                }
                ErasureState::Found => match self.of.kept_until.filter(|until| self.now() < *until) {
                    Some(until) => return Ok(Rest::Closed(until)),
                    None => {
                        self.drop().await?;
                        return Ok(Rest::Done);
                    }
                },
            }
        }
    }

    /// Whether the job is one of the oldest of its workspace that run.
    async fn has_turn(&self) -> Result<bool> {
        let jobs = self.store().running_erasures(self.of.workspace_id).await?;
        let before = jobs.iter().filter(|job| (job.asked_at, job.id) < (self.of.asked_at, self.of.id));
        Ok(before.count() < AT_ONCE)
    }

    /// Finds what belongs to the person. What is found is stored before anything is deleted: afterwards nothing leads
    /// to it. Returns `false` if one of the contacts is in a merge, which must end first.
    async fn find(&mut self) -> Result<bool> {
        let workspace = self.of.workspace_id;
        let mut known = self.store().person_of(&self.of).await?;
        if self.of.is_preview {
            return self.preview(known).await.map(|()| true);
        }
        if self.of.pass == 2 {
            known.contacts.extend(self.store().returned(workspace, &known, self.of.asked_at).await?);
        }
        let (job, contacts) = (self.of.id.into(), known.contacts.clone());
        let Some(contacts) = self.store().take_for_erasure(workspace, job, contacts).await? else {
            return Ok(false);
        };
        let found = self.store().find_person(workspace, Person { contacts, ..known }).await?;
        for target in targets(&self.of, &found) {
            self.store().add_target(&self.of, &target).await?;
        }
        let key = self.store().person_key().await?;
        let next = self.of.erasing(&found.person, &key);
        self.keep(next, Some(&found.person)).await.map(|()| true)
    }

    async fn erase(&mut self) -> Result {
        let person = self.store().person_of(&self.of).await?;
        let found = self.store().find_person(self.of.workspace_id, person.clone()).await?;
        let mut pass = Pass { job: self, person, targets: vec![] };
        pass.run(&found).await?;
        let counts = sums(&self.store().targets(&self.of).await?);
        self.keep(self.of.passed(counts, self.now()), None).await
    }

    /// Counts what an erasure would take, contact by contact.
    async fn preview(&mut self, known: Person) -> Result {
        let (store, workspace) = (self.store(), self.of.workspace_id);
        let mut preview = Preview::default();
        for contact in &known.contacts {
            let one = Person { contacts: [*contact].into(), ..Person::default() };
            let found = store.find_person(workspace, one).await?;
            let mut shared = 0;
            for id in &found.conversations {
                self.has_time()?;
                let conversation = store.conversation(workspace, *id).await?;
                shared += u64::from(conversation.is_some_and(|of| !found.person.is_alone_in(&of)));
            }
            preview.contacts.push(of_contact(*contact, &found, shared));
            preview.nobodys_leads.extend(&found.nobodys);
        }
        let all = store.find_person(workspace, known).await?;
        preview.nobodys_leads.extend(&all.nobodys);
        preview.counts = counts_of(&all);
        for lead in &all.leads {
            preview.nobodys_leads.remove(&lead.id);
        }
        self.keep(self.of.found(preview, self.now()), None).await
    }
}

fn of_contact(contact: ContactId, found: &Found, shared: u64) -> ContactPreview {
    let mut counts = counts_of(found);
    counts.insert("sharedConversations".to_owned(), shared);
    let numbers = found.person.numbers.iter().map(|held| held.tenure);
    let others = found.others.values().flatten().copied();
    ContactPreview { contact, counts, numbers: numbers.collect(), others: others.collect() }
}

fn counts_of(found: &Found) -> BTreeMap<String, u64> {
    let outs = found.choices.iter().filter(|kept| kept.outs().next().is_some());
    let counts = [
        ("contacts", found.contacts.len() as u64),
        ("leads", found.leads.len() as u64),
        ("conversations", found.conversations.len() as u64),
        ("optOuts", outs.count() as u64),
        ("counts", found.counts),
    ];
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.to_owned(), count)).collect()
}

fn sums(targets: &[Target]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (kind, count) in targets.iter().flat_map(|target| target.counts.iter().flatten()) {
        *sums.entry(kind.clone()).or_default() += count;
    }
    sums
}
