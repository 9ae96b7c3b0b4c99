//! Reads the lists of an account's templates and lines, and records what they change. The console runs it page by page, and so does the
//! rule of the day.
//!
//! ```text
//! lines of the account -> scopes, token -> page, page, ... -> what the list no longer has -> list of lines
//! ```
//!
//! Every write is conditional on what was read, and a repeat finds what the first one wrote. So a run that ended early leaves a
//! correct part, and the next run does the rest. Only the end of the list marks a template as deleted.

use std::collections::BTreeSet;

use domain::settings::reported::{LineState, Synced};
use domain::settings::template::{Change, Judged, Listed, Reading, TemplateName, Unkept};
use domain::{BusinessAccountId, Secret, Template, TemplateScope, Timestamp, WorkspaceId};
use provider::{ListedLine, NotRead, TemplateClient};
use store::{RetryTime, Store, StoreError, TemplateOwner};

pub use crate::mode::Mode;
use crate::reported::{change_account, record_lines};

/// A business account of which at least one line is here.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its id.
    pub id: BusinessAccountId,
    /// The workspaces that have a line of it.
    pub workspaces: Vec<WorkspaceId>,
    /// The token of its first line.
    token: Secret,
}

/// A run over the list of an account.
pub struct Run<'a> {
    store: &'a Store,
    client: &'a TemplateClient,
    account: Account,
    creates_in: Vec<TemplateScope>,
    mode: Mode,
    progress: Progress,
    state: State,
}

/// Where a run stands between two pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When the run began.
    pub began: Timestamp,
    /// The cursor of the next page. `None` for the first page.
    pub after: Option<String>,
    /// The names on the pages so far. `None` if they are no longer kept: then the end of the list marks no template as deleted.
    pub seen: Option<BTreeSet<TemplateName>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    AtEnd,
    Done,
}

/// What a step of a run did.
#[derive(Debug, Default)]
pub struct Step {
    /// The number of templates on the page.
    pub listed: usize,
    /// What changed, or would change.
    pub changes: Vec<Change>,
    /// What cannot be kept here.
    pub unkept: Vec<Unkept>,
    /// Templates whose status is a word that is not known, with the word. Their state stays as it was.
    pub unknown: Vec<(TemplateName, String)>,
    /// The lines of which something else is known, or would be, in each workspace.
    pub lines: Vec<LineState>,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum NotSynced {
    /// The provider's list was not read.
    #[error(transparent)]
    Provider(#[from] NotRead),
    /// The tables did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Account {
    /// The account. `None` if no line of it is here. One round trip, and two for each workspace until a line is found.
    pub async fn find(store: &Store, id: &BusinessAccountId) -> Result<Option<Self>, StoreError> {
        let workspaces = store.workspaces_of_account(id).await?;
        for workspace in &workspaces {
            let lines = store.lines(*workspace).await?;
            for line in lines.lines.iter().filter(|line| line.business_account == *id) {
                if let Some(token) = store.line_token(*workspace, &line.channel).await? {
                    return Ok(Some(Self { id: id.clone(), workspaces, token }));
                }
            }
        }
        Ok(None)
    }

    /// The account's lines, as the provider lists them. One call of the provider.
    pub(crate) async fn lines(&self, client: &TemplateClient) -> Result<Vec<ListedLine>, NotRead> {
        client.lines(&self.id, &self.token).await
    }

    /// The scopes in which a template of the account can stand.
    fn scopes(&self) -> Vec<TemplateScope> {
        let workspaces = self.workspaces.iter().map(|workspace| TemplateScope::Workspace(*workspace));
        std::iter::once(TemplateScope::Platform).chain(workspaces).collect()
    }
}

impl<'a> Run<'a> {
    /// A run that begins now. A template that stands in no scope of the account is created in each of `creates_in`.
    pub fn new(
        store: &'a Store,
        client: &'a TemplateClient,
        account: Account,
        creates_in: Vec<TemplateScope>,
        mode: Mode,
    ) -> Self {
        let progress = Progress { began: store.now(), after: None, seen: Some(BTreeSet::new()) };
        Self { store, client, account, creates_in, mode, progress, state: State::Reading }
    }

    /// A run that goes on where another one stood.
    #[must_use]
    pub fn resumed(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Where the run stands, if it has not read the last page.
    pub fn progress(&self) -> Option<&Progress> {
        (self.state == State::Reading).then_some(&self.progress)
    }

    /// Reads and records the next page; after the last page, what the list no longer has, and the list of lines. `None` if everything
    /// is done. If the provider refuses, the account's state says so.
    pub async fn step(&mut self) -> Result<Option<Step>, NotSynced> {
        let step = match self.state {
            State::Reading => self.page().await,
            State::AtEnd => self.end().await,
            State::Done => return Ok(None),
        };
        if let Err(NotSynced::Provider(error @ (NotRead::Refused { .. } | NotRead::Gone))) = &step {
            self.ended(Some(error.to_string())).await?;
        }
        step.map(Some)
    }

    async fn end(&mut self) -> Result<Step, NotSynced> {
        let changes = self.absent().await?;
        let at = self.store.now();
        let listed = self.account.lines(self.client).await?;
        let Account { id, workspaces, .. } = &self.account;
        let lines = record_lines(self.store, workspaces, id, &listed, (at, self.mode)).await?;
        self.ended(None).await?;
        self.state = State::Done;
        Ok(Step { changes, lines, ..Step::default() })
    }

    /// Records that the run ended, with an error if it ended early.
    async fn ended(&self, error: Option<String>) -> Result<(), StoreError> {
        if self.mode == Mode::DryRun {
            return Ok(());
        }
        let (Account { id, workspaces, .. }, now) = (&self.account, self.store.now());
        let synced = Synced { at: now, error };
        change_account(self.store, workspaces, id, |known| known.after_sync(synced.clone(), now)).await
    }

    async fn page(&mut self) -> Result<Step, NotSynced> {
        let at = self.store.now();
        let after = self.progress.after.as_deref();
        let page = self.client.page(&self.account.id, &self.account.token, after).await?;
        let reading = Reading { account: self.account.id.clone(), at, creates_in: self.creates_in.clone() };
        let unknown = unknown_statuses(&self.account.id, &page.templates);
        let mut step = Step { listed: page.templates.len(), unknown, ..Step::default() };
        for chunk in page.templates.chunks(Store::TEMPLATES_AT_ONCE) {
            let Judged { changes, unkept } =
                record(self.store, &reading, &self.account, chunk, self.mode).await?;
            step.changes.extend(changes);
            step.unkept.extend(unkept);
        }
        if let Some(seen) = &mut self.progress.seen {
            seen.extend(page.templates.iter().map(Listed::template_name));
        }
        self.state = if page.next.is_some() { State::Reading } else { State::AtEnd };
        self.progress.after = page.next;
        Ok(step)
    }

    async fn absent(&self) -> Result<Vec<Change>, StoreError> {
        let Some(seen) = &self.progress.seen else { return Ok(vec![]) };
        let (account, at) = (self.account.id.clone(), self.progress.began);
        let reading = Reading { account, at, creates_in: vec![] };
        let mut changes = vec![];
        for scope in self.account.scopes() {
            for template in self.store.templates_of(scope).await? {
                let next = |template: &Template| reading.absent(template, seen);
                changes.extend(replaced(self.store, template, next, self.mode).await?);
            }
        }
        Ok(changes)
    }
}

/// The statuses that the provider says and the service does not know. Each is logged.
fn unknown_statuses(account: &BusinessAccountId, listed: &[Listed]) -> Vec<(TemplateName, String)> {
    let unknown = listed.iter().filter_map(|one| Some((one.template_name(), one.unknown_status.clone()?)));
    unknown
        .inspect(|((name, language), status)| {
            let account = account.as_str();
            tracing::warn!(
                account,
                template = name,
                language,
                status,
                "a template's status is a word that is not known"
            );
        })
        .collect()
}

/// Reads one template of the account's list, and records what it says as of `at`. `None` if the list has no such template:
/// that alone deletes nothing here, because a list can lag behind its webhooks.
pub(crate) async fn read_one(
    store: &Store,
    client: &TemplateClient,
    account: &Account,
    creates_in: Vec<TemplateScope>,
    (name, language): (&str, &str),
    at: Timestamp,
) -> Result<Option<Step>, NotSynced> {
    let Some(listed) = client.named(&account.id, &account.token, name, language).await? else {
        return Ok(None);
    };
    let (reading, listed) = (Reading { account: account.id.clone(), at, creates_in }, [listed]);
    let unknown = unknown_statuses(&account.id, &listed);
    let Judged { changes, unkept } = record(store, &reading, account, &listed, Mode::Record).await?;
    Ok(Some(Step { listed: 1, changes, unkept, unknown, lines: vec![] }))
}

/// Records what a chunk of the list means: judges it, writes, and judges again what somebody else changed in between.
async fn record(
    store: &Store,
    reading: &Reading,
    account: &Account,
    chunk: &[Listed],
    mode: Mode,
) -> Result<Judged, StoreError> {
    let names: Vec<TemplateName> = chunk.iter().map(Listed::template_name).collect();
    let (mut retries, mut done) = (RetryTime::new(store), vec![]);
    loop {
        let known = store.templates_named(&account.scopes(), &names).await?;
        let Judged { changes, unkept } = reading.judge(chunk, &known, store.ids(), store.now());
        if mode == Mode::DryRun {
            return Ok(Judged { changes, unkept });
        }
        let mut is_whole = true;
        let (created, changed): (Vec<Change>, Vec<Change>) =
            changes.into_iter().partition(|change| change.before.is_none());
        for change in changed {
            match store.replace_template(&change.after).await? {
                true => done.push(change),
                false => is_whole = false,
            }
        }
        for scope in &reading.creates_in {
            let of_scope: Vec<&Change> = created.iter().filter(|one| one.after.scope == *scope).collect();
            match create(store, *scope, &of_scope).await? {
                true => done.extend(of_scope.into_iter().cloned()),
                false => is_whole = false,
            }
        }
        if is_whole {
            return Ok(Judged { changes: done, unkept });
        }
        retries.wait().await?;
    }
}

/// Creates templates of one scope together. Returns `false` if somebody else changed what stands there.
async fn create(store: &Store, scope: TemplateScope, changes: &[&Change]) -> Result<bool, StoreError> {
    if changes.is_empty() {
        return Ok(true);
    }
    let owner = match scope {
        TemplateScope::Platform => store.platform_templates().await?,
        TemplateScope::Workspace(id) => match store.workspace(id).await? {
            Some(workspace) => TemplateOwner::Workspace(Box::new(workspace)),
            // A workspace that is gone takes no templates.
            None => return Ok(true),
        },
    };
    let templates: Vec<Template> = changes.iter().map(|change| change.after.clone()).collect();
    store.create_templates(&owner, &templates).await
}

/// Replaces a template by what `next` makes of it, also if somebody else changes it at the same time.
async fn replaced(
    store: &Store,
    mut template: Template,
    next: impl Fn(&Template) -> Option<Change>,
    mode: Mode,
) -> Result<Option<Change>, StoreError> {
    let mut retries = RetryTime::new(store);
    loop {
        let Some(change) = next(&template) else { return Ok(None) };
        if mode == Mode::DryRun || store.replace_template(&change.after).await? {
            return Ok(Some(change));
        }
        retries.wait().await?;
        match store.template(template.scope, template.id).await? {
            Some(current) => template = current,
            None => return Ok(None),
        }
    }
}
