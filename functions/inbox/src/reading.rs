//! Reads one template again from the provider, because of news about it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::{BusinessAccountId, TemplateScope, Timestamp, WorkspaceId};
use provider::webhook::{TemplateEvent, TemplateNews};
use provider::{ListedLine, NotRead, TemplateClient};
use queue::Inbound;
use store::{Store, StoreError};

use crate::sync::{Account, NotSynced, Step, read_one};

/// Reads templates one by one.
pub struct TemplateReader {
    client: TemplateClient,
    /// When this process last read a template, by the account and the template's name and language.
    recent: Mutex<BTreeMap<Key, Timestamp>>,
}

type Key = (BusinessAccountId, String, String);

/// What became of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// What the provider says is recorded.
    Done,
    /// It was read a moment ago.
    Recent,
    /// No line of the account is here.
    NoLine,
    /// The account's list has no such template.
    Absent,
    /// The provider does not show the list. Somebody must look at the token.
    Refused,
    /// A later call may succeed.
    NotNow,
}

impl TemplateReader {
    /// How long a reading stands for those that failed sends ask for. A broken template can make a thousand sends fail.
    const STANDS: Duration = Duration::from_mins(1);

    /// Reads by this client.
    pub fn new(client: TemplateClient) -> Self {
        Self { client, recent: Mutex::default() }
    }

    /// Reads the template that the news are about, and records it. If it stands nowhere, it is created in each workspace with a line of
    /// the account for which the app speaks. Four round trips and a call of the provider if nothing changes; one more for a token that is
    /// not in memory.
    pub(crate) async fn read(
        &self,
        store: &Store,
        inbound: &Inbound,
        event: &TemplateEvent,
        (account, language): (&BusinessAccountId, &str),
        at: Timestamp,
    ) -> Result<Read, StoreError> {
        let key = (account.clone(), event.name.clone(), language.to_owned());
        if event.news == TemplateNews::Refused && self.stands(&key, inbound.received_at) {
            return Ok(Read::Recent);
        }
        let began = store.now();
        let Some(account) = Account::find(store, account).await? else { return Ok(Read::NoLine) };
        let speaks_for = |workspace: &&WorkspaceId| inbound.workspace.is_none_or(|only| only == **workspace);
        let creates_in = match event.news {
            TemplateNews::Refused => vec![],
            _ => {
                account.workspaces.iter().filter(speaks_for).copied().map(TemplateScope::Workspace).collect()
            }
        };
        let named = (event.name.as_str(), language);
        Ok(match read_one(store, &self.client, &account, creates_in, named, at).await {
            Ok(Some(step)) => {
                self.remember(key, began);
                note(&step);
                Read::Done
            }
            Ok(None) => Read::Absent,
            Err(NotSynced::Store(error)) => return Err(error),
            Err(NotSynced::Provider(error)) => {
                let (account, template) = (account.id.as_str(), &event.name);
                match error {
                    NotRead::NotNow(why) => {
                        tracing::warn!(account, template, language, why, "template not read again");
                        Read::NotNow
                    }
                    error @ (NotRead::Refused { .. } | NotRead::Gone) => {
                        tracing::error!(account, template, language, %error, "template not read again");
                        Read::Refused
                    }
                }
            }
        })
    }

    /// The client.
    pub(crate) fn client(&self) -> &TemplateClient {
        &self.client
    }

    /// The lines of an account, as the provider lists them. `None` if no line of it is here. Three round trips and a call of the
    /// provider, one less if the token is in memory.
    pub(crate) async fn lines(
        &self,
        store: &Store,
        account: &BusinessAccountId,
    ) -> Result<Option<Vec<ListedLine>>, NotSynced> {
        match Account::find(store, account).await? {
            Some(account) => Ok(Some(account.lines(&self.client).await?)),
            None => Ok(None),
        }
    }

    fn stands(&self, key: &Key, asked_at: Timestamp) -> bool {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.get(key).is_some_and(|at| at.plus(Self::STANDS) > asked_at)
    }

    fn remember(&self, key: Key, at: Timestamp) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, before| before.plus(Self::STANDS) > at);
        recent.insert(key, at);
    }
}

fn note(Step { changes, unkept, .. }: &Step) {
    for change in changes {
        tracing::info!(template = %change.after.id, "template read again, and changed");
    }
    for unkept in unkept {
        let ((name, language), reason) = (&unkept.name, &unkept.reason);
        tracing::warn!(template = name, language, %reason, "a template of the provider cannot be kept here");
    }
}
