//! The provider's decisions about templates.
//!
//! A template is found by name and language in the workspaces that have a line of the account, and among the platform's.
//! An app that speaks for one workspace decides about the templates of that workspace only, and about the platform's if
//! no other workspace has the account.

use domain::settings::template::{AccountState, SaidBy, TemplateUnfit};
use domain::{BusinessAccountId, Template, TemplateCategory, TemplateScope, TemplateStatus, Timestamp};
use provider::webhook::{TemplateEvent, TemplateNews};
use queue::Inbound;
use store::{RetryTime, Store, StoreError};

use crate::invocation::Invocation;
use crate::item::{Processed, Wait};
use crate::reading::Read;

/// What the provider decided about a template.
#[derive(Clone, Copy)]
enum Decided {
    /// Its status.
    Status(TemplateStatus),
    /// Its category.
    Category(TemplateCategory),
}

impl Decided {
    /// `None` for news that do not say what is true now.
    fn of(news: &TemplateNews) -> Option<Self> {
        match news {
            TemplateNews::Status { event, .. } => TemplateStatus::reported(event).map(Self::Status),
            TemplateNews::Category(category) => TemplateCategory::parse(category).ok().map(Self::Category),
            TemplateNews::Quality | TemplateNews::Components | TemplateNews::Refused => None,
        }
    }

    /// Whether nothing else of the template can have changed. What is approved may have been edited before.
    fn is_all(self) -> bool {
        !matches!(self, Self::Status(TemplateStatus::Approved | TemplateStatus::Reinstated))
    }

    /// Whether the provider has the template no more.
    fn is_end(self) -> bool {
        matches!(self, Self::Status(TemplateStatus::Deleted | TemplateStatus::PendingDeletion))
    }
}

/// Approves, revokes or pauses the template for its account, or changes its category. Whatever else can have changed is read from the
/// provider. A repeat finds what was written, and reads again.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    event: &TemplateEvent,
) -> Result<Processed, StoreError> {
    let TemplateEvent { account, name, language, news, .. } = event;
    let decided = Decided::of(news);
    if decided.is_none() && matches!(news, TemplateNews::Status { .. } | TemplateNews::Category(_)) {
        tracing::warn!(account, template = name, language, ?news, "news of a template that are not known");
        invocation.counted.other_changes.add(1);
    }
    // Webhooks write `en-US`, and everything else `en_US`.
    let language = language.replace('-', "_");
    let processed = match BusinessAccountId::parse(account) {
        Err(_) => Processed::Dropped("the account's id is invalid"),
        Ok(_) if !Template::can_be_named(name, &language) => {
            Processed::Dropped("no template can have this name")
        }
        Ok(id) => decide_and_read(invocation, inbound, event, (&id, &language), decided).await?,
    };
    match processed {
        Processed::Dropped(why) => {
            tracing::info!(account, template = name, language, ?news, why, "news of a template dropped");
            invocation.counted.items_dropped.add(1);
        }
        Processed::Done => invocation.counted.items_processed.add(1),
        Processed::Later(wait) => {
            invocation.counted.pieces_deferred.add(1);
            let queued = invocation.queue.send_delayed(std::slice::from_ref(inbound), wait.delay).await;
            queued.map_err(|error| StoreError::Failed(error.into()))?;
        }
    }
    Ok(processed)
}

async fn decide_and_read(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    event: &TemplateEvent,
    of: (&BusinessAccountId, &str),
    decided: Option<Decided>,
) -> Result<Processed, StoreError> {
    let store = invocation.store;
    let is_known = match decided {
        Some(decided) => decide(store, inbound, event, of, decided).await?,
        None => false,
    };
    let at = match decided {
        Some(decided) if is_known && decided.is_all() => return Ok(Processed::Done),
        Some(decided) if !is_known && decided.is_end() => return Ok(Processed::Dropped("no such template")),
        // The list may lag behind the webhook. At the same time, the webhook's status holds.
        Some(Decided::Status(_)) => happened_at(inbound, event),
        Some(Decided::Category(_)) | None => store.now(),
    };
    match invocation.templates.read(store, inbound, event, of, at).await? {
        Read::Done => {
            // It may just have been created, in the status of a list that lags.
            if let Some(decided) = decided.filter(|_| !is_known) {
                decide(store, inbound, event, of, decided).await?;
            }
            Ok(Processed::Done)
        }
        Read::Recent => Ok(Processed::Done),
        Read::NoLine => Ok(Processed::Dropped("no line of the account is here")),
        Read::Absent => Ok(Processed::Dropped("the provider's list has no such template")),
        Read::Refused => {
            invocation.counted.other_changes.add(1);
            Ok(Processed::Dropped("the provider does not show the template"))
        }
        // The next failed send asks again.
        Read::NotNow if event.news == TemplateNews::Refused => {
            Ok(Processed::Dropped("the provider does not show the template now"))
        }
        Read::NotNow => Ok(match Wait::for_a_record(store.now(), inbound) {
            Some(wait) => Processed::Later(wait),
            None => {
                invocation.counted.other_changes.add(1);
                Processed::Dropped("the provider has not shown the template for a quarter of an hour")
            }
        }),
    }
}

/// When the news happened. Without a time of their own, a repeat counts as new: it comes again only if this one was not acknowledged.
fn happened_at(inbound: &Inbound, event: &TemplateEvent) -> Timestamp {
    event.at.unwrap_or(inbound.received_at).min(inbound.received_at)
}

/// Records the decision wherever the template stands. Returns whether it stands anywhere.
async fn decide(
    store: &Store,
    inbound: &Inbound,
    event: &TemplateEvent,
    (account, language): (&BusinessAccountId, &str),
    decided: Decided,
) -> Result<bool, StoreError> {
    let of_account = store.workspaces_of_account(account).await?;
    let mut scopes: Vec<TemplateScope> = of_account
        .iter()
        .filter(|workspace| inbound.workspace.is_none_or(|only| only == **workspace))
        .map(|workspace| TemplateScope::Workspace(*workspace))
        .collect();
    if inbound.workspace.is_none_or(|only| of_account == [only]) {
        scopes.push(TemplateScope::Platform);
    }
    let at = happened_at(inbound, event);
    let mut is_known = false;
    for scope in scopes {
        if let Some(template) = store.template_named(scope, &event.name, language).await? {
            is_known = true;
            let next = |template: &Template| match decided {
                Decided::Status(status) => {
                    template.decided(account, AccountState::of(status, at, SaidBy::Provider))
                }
                Decided::Category(category) => Ok(template.in_category(category, at)),
            };
            record(store, template, next, event).await?;
        }
    }
    Ok(is_known)
}

/// Records the decision, unless a newer one is known.
async fn record(
    store: &Store,
    mut template: Template,
    next: impl Fn(&Template) -> Result<Option<Template>, TemplateUnfit>,
    TemplateEvent { account, news, .. }: &TemplateEvent,
) -> Result<(), StoreError> {
    let (mut retries, id) = (RetryTime::new(store), template.id);
    loop {
        let next = match next(&template) {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::error!(template = %id, account, %error, "news of a template not recorded");
                return Ok(());
            }
        };
        if store.replace_template(&next).await? {
            tracing::info!(template = %id, account, ?news, "news of a template recorded");
            return Ok(());
        }
        // The template has changed or was deleted.
        retries.wait().await?;
        match store.template(template.scope, id).await? {
            Some(current) => template = current,
            None => return Ok(()),
        }
    }
}
