//! The provider's decisions about templates.
//!
//! A template is found by name and language in the workspaces that have a line of the account, and among the platform's.
//! An app that speaks for one workspace decides about the templates of that workspace only, and about the platform's if
//! no other workspace has the account.

use domain::settings::template::{AccountState, SaidBy, TemplateUnfit};
use domain::{BusinessAccountId, Template, TemplateCategory, TemplateScope, TemplateStatus};
use provider::webhook::{TemplateEvent, TemplateNews};
use queue::Inbound;
use store::{RetryTime, Store, StoreError};

use crate::invocation::Invocation;
use crate::item::Processed;

/// What the provider decided about a template.
#[derive(Clone, Copy)]
enum Decided {
    /// Its status.
    Status(TemplateStatus),
    /// Its category.
    Category(TemplateCategory),
}

impl Decided {
    /// `None` for news that change nothing.
    fn of(news: &TemplateNews) -> Option<Self> {
        match news {
            TemplateNews::Status { event, .. } => TemplateStatus::reported(event).map(Self::Status),
            TemplateNews::Category(category) => TemplateCategory::parse(category).ok().map(Self::Category),
        }
    }
}

/// Approves, revokes or pauses the template for its account, or changes its category.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    event: &TemplateEvent,
) -> Result<Processed, StoreError> {
    let TemplateEvent { account, name, language, news, .. } = event;
    let Some(decided) = Decided::of(news) else {
        tracing::warn!(account, template = name, language, ?news, "news of a template that change nothing");
        invocation.counted.other_changes.add(1);
        return Ok(Processed::Done);
    };
    let processed = match BusinessAccountId::parse(account) {
        Ok(id) => decide(invocation.store, inbound, event, &id, decided).await?,
        Err(_) => Processed::Dropped("the account's id is invalid"),
    };
    match processed {
        Processed::Dropped(why) => {
            tracing::info!(account, template = name, language, ?news, why, "news of a template dropped");
            invocation.counted.items_dropped.add(1);
        }
        Processed::Done | Processed::Later(_) => invocation.counted.items_processed.add(1),
    }
    Ok(processed)
}

async fn decide(
    store: &Store,
    inbound: &Inbound,
    event: &TemplateEvent,
    account: &BusinessAccountId,
    decided: Decided,
) -> Result<Processed, StoreError> {
    let of_account = store.workspaces_of_account(account).await?;
    let mut scopes: Vec<TemplateScope> = of_account
        .iter()
        .filter(|workspace| inbound.workspace.is_none_or(|only| only == **workspace))
        .map(|workspace| TemplateScope::Workspace(*workspace))
        .collect();
    if inbound.workspace.is_none_or(|only| of_account == [only]) {
        scopes.push(TemplateScope::Platform);
    }
    // Without a time of its own, a repeat counts as new: it comes again only if this one was not acknowledged.
    let at = event.at.unwrap_or(inbound.received_at).min(inbound.received_at);
    // Webhooks write `en-US`, and everything else `en_US`.
    let language = event.language.replace('-', "_");
    if !Template::can_be_named(&event.name, &language) {
        return Ok(Processed::Dropped("no template can have this name"));
    }
    let mut is_known = false;
    for scope in scopes {
        if let Some(template) = store.template_named(scope, &event.name, &language).await? {
            is_known = true;
            let next = |template: &Template| match decided {
                Decided::Status(status) => {
                    template.decided(account, AccountState::of(status, at, SaidBy::Provider))
                }
                Decided::Category(category) => Ok(template.in_category(category)),
            };
            record(store, template, next, event).await?;
        }
    }
    Ok(if is_known { Processed::Done } else { Processed::Dropped("no such template") })
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
