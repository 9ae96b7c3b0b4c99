use domain::ConversationId;
use domain::message::summary::Direction;
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};
use futures::future::try_join3;
use store::MessageQuery;

/// GET /conversations/{conversationId}/messages: two round trips, and up to three more if few messages have the wanted
/// direction.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "direction"]);
    let id = call.request.path_id(&mut form, "conversationId", ConversationId::parse);
    let page_size = query.page_size(&mut form);
    let direction = query.text(&mut form, "direction", Direction::parse);
    let conversation = id.map(|id| id.to_string());
    let filters =
        [("conversationId", conversation.as_deref()), ("direction", direction.map(Direction::as_str))];
    let cursors = call.cursors("messages", &filters);
    let after = cursors.open(&mut form).await?;
    let conversation = form.finish(id)?;

    let wanted = MessageQuery { conversation, direction, page_size, after };
    let known = async { Ok(call.store().conversation(call.workspace(), conversation).await?) };
    let page = async { Ok(call.store().messages_page(call.workspace(), wanted).await?) };
    let (known, page, ()) = try_join3(known, page, cursors.warm()).await?;
    if known.is_none() {
        return Err(ApiError::NotFound(Resource::Conversation));
    }
    let messages = page.items.iter().map(view::message).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::MessagesView { messages, cursor })
}
