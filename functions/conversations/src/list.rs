use domain::{ContactRef, Conversation, ConversationStatus, UserRef};
use edge::form::{Form, Node, Query};
use edge::{ApiError, Call, Reply, people, view};
use futures::future::try_join;
use store::ConversationQuery;

/// GET /conversations: two round trips, or three if a filter names a person by e-mail address or phone number. The
/// last one reads when the customers were last seen.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(
        &mut form,
        &[
            "pageSize",
            "cursor",
            "status",
            "internalUserIdentifier",
            "internalIdentifierType",
            "externalUserIdentifier",
            "externalIdentifierType",
        ],
    );
    let page_size = query.page_size(&mut form);
    let status = query.text(&mut form, "status", ConversationStatus::parse);
    let internal = read_internal(&mut form, &query);
    let external = read_external(&mut form, &query);
    let (internal_filter, external_filter) =
        (internal.as_ref().map(UserRef::identifier), external.as_ref().map(ContactRef::identifier));
    let filters = [
        ("status", status.map(ConversationStatus::as_str)),
        ("internalUserIdentifier", internal_filter.as_deref()),
        ("internalIdentifierType", internal.as_ref().map(UserRef::identifier_type)),
        ("externalUserIdentifier", external_filter.as_deref()),
        ("externalIdentifierType", external.as_ref().map(ContactRef::identifier_type)),
    ];
    let cursors = call.cursors("conversations", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let wanted = ConversationQuery { status, external, internal, page_size, after };
    let page = async { Ok(call.store().conversations_page(call.workspace(), wanted).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let seen = call.store().last_seen(&page.items).await?;
    let items: Vec<Conversation> =
        page.items.iter().zip(&seen).map(|(conversation, seen)| conversation.with_seen(seen)).collect();
    let conversations = items.iter().map(view::conversation).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::ConversationsView { conversations, cursor })
}

fn read_internal(form: &mut Form, query: &Query) -> Option<UserRef> {
    let (identifier, its_type) = pair(query, "internalUserIdentifier", "internalIdentifierType")?;
    people::user(form, &identifier, &its_type)
}

fn read_external(form: &mut Form, query: &Query) -> Option<ContactRef> {
    let (identifier, its_type) = pair(query, "externalUserIdentifier", "externalIdentifierType")?;
    people::contact_in_query(form, &identifier, &its_type)
}

/// Two parameters that need each other. Returns `None` if neither was sent.
fn pair<'q>(query: &'q Query, identifier: &str, its_type: &str) -> Option<(Node<'q>, Node<'q>)> {
    let (identifier, its_type) = (query.field(identifier), query.field(its_type));
    (!identifier.is_absent() || !its_type.is_absent()).then_some((identifier, its_type))
}
