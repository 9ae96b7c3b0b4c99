//! Reads the list of an account's templates, and records what it changes. The console runs it page by page.
//!
//! ```text
//! lines of the account -> scopes, token -> page, page, ... -> what the list no longer has
//! ```
//!
//! Every write is conditional on what was read, and a repeat finds what the first one wrote. So a run that ended early leaves a
//! correct part, and the next run does the rest. Only the end of the list marks a template as deleted.

use std::collections::BTreeSet;

use domain::settings::template::{Change, Judged, Listed, Reading, TemplateName, Unkept};
use domain::{BusinessAccountId, Secret, Template, TemplateScope, Timestamp, WorkspaceId};
use provider::{ListedLine, NotRead, TemplateClient};
use store::{RetryTime, Store, StoreError, TemplateOwner};

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

/// Whether a run writes what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It writes.
    Record,
    /// It writes nothing, and says what it would write.
    DryRun,
}

/// A run over the list of an account.
pub struct Run<'a> {
    store: &'a Store,
    client: &'a TemplateClient,
    account: Account,
    creates_in: Vec<TemplateScope>,
    mode: Mode,
    began: Timestamp,
    /// The cursor of the next page.
    after: Option<String>,
    seen: BTreeSet<TemplateName>,
    state: State,
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
        let (began, after, seen) = (store.now(), None, BTreeSet::new());
        Self { store, client, account, creates_in, mode, began, after, seen, state: State::Reading }
    }

    /// Reads and records the next page; after the last page, what the list no longer has. `None` if everything is done.
    pub async fn step(&mut self) -> Result<Option<Step>, NotSynced> {
        match self.state {
            State::Reading => self.page().await.map(Some),
            State::AtEnd => {
                let changes = self.absent().await?;
                self.state = State::Done;
                Ok(Some(Step { changes, ..Step::default() }))
            }
            State::Done => Ok(None),
        }
    }

    async fn page(&mut self) -> Result<Step, NotSynced> {
        let at = self.store.now();
        let page = self.client.page(&self.account.id, &self.account.token, self.after.as_deref()).await?;
        let reading = Reading { account: self.account.id.clone(), at, creates_in: self.creates_in.clone() };
        let unknown = unknown_statuses(&self.account.id, &page.templates);
        let mut step = Step { listed: page.templates.len(), unknown, ..Step::default() };
        for chunk in page.templates.chunks(Store::TEMPLATES_AT_ONCE) {
            let Judged { changes, unkept } =
                record(self.store, &reading, &self.account, chunk, self.mode).await?;
            step.changes.extend(changes);
            step.unkept.extend(unkept);
        }
        self.seen.extend(page.templates.iter().map(Listed::template_name));
        self.state = if page.next.is_some() { State::Reading } else { State::AtEnd };
        self.after = page.next;
        Ok(step)
    }

    async fn absent(&self) -> Result<Vec<Change>, StoreError> {
        let (account, at) = (self.account.id.clone(), self.began);
        let reading = Reading { account, at, creates_in: vec![] };
        let mut changes = vec![];
        for scope in self.account.scopes() {
            for template in self.store.templates_of(scope).await? {
                let next = |template: &Template| reading.absent(template, &self.seen);
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
    Ok(Some(Step { listed: 1, changes, unkept, unknown }))
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
