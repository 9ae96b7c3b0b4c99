use domain::{ConversationId, MessageId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};

/// GET /messages/{messageId}: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["conversationId"]);
    let id = call.request.path_id(&mut form, "messageId", MessageId::parse);
    let conversation = query.field("conversationId").required(&mut form);
    let conversation = conversation.and_then(|at| at.text(&mut form, ConversationId::parse));
    let (conversation, id) = form.finish(conversation.zip(id))?;

    let message = call.store().message(call.workspace(), conversation, id).await?;
    let message = message.ok_or(ApiError::NotFound(Resource::Message))?;
    Reply::resource(&view::message(&message), 0)
}
