use domain::contact::search::SearchQuery;
use domain::{Email, ExternalId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;
use store::ContactQuery;

/// GET /contacts: two round trips, or three to five for a search by several words; one if nobody has the external id.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["owner", "externalId", "search", "pageSize", "cursor"]);
    let owner = query.text(&mut form, "owner", Email::parse);
    let external_id = query.text(&mut form, "externalId", ExternalId::parse);
    let search = query.text(&mut form, "search", SearchQuery::parse);
    let page_size = query.page_size(&mut form);
    let owner_filter = owner.as_ref().map(|owner| owner.key().as_str().to_owned());
    let search_filter = search.as_ref().map(SearchQuery::canonical);
    let mut filters = vec![("owner", owner_filter.as_deref()), ("search", search_filter.as_deref())];
    // Only if it is sent, so the cursors of all other lists are what they were without it.
    filters.extend(external_id.as_ref().map(|id| ("externalId", Some(id.as_str()))));
    let cursors = call.cursors("contacts", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let wanted = ContactQuery { owner, external_id, search, page_size, after };
    let (store, workspace) = (call.store(), call.workspace());
    let page = async { Ok(store.contacts_page_and_definitions(workspace, wanted).await?) };
    let ((page, definitions), ()) = try_join(page, cursors.warm()).await?;
    let now = store.now();
    let contacts = page.items.iter().map(|contact| view::contact(contact, &definitions, now)).collect();
    let cursor = cursors.next(page.next.as_deref()).await?.unwrap_or_default();
    Reply::list(&view::ContactsView { contacts, cursor })
}
