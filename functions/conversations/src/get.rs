use domain::ConversationId;
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource};

use crate::shown::shown;

/// GET /conversations/{conversationId}: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "conversationId", ConversationId::parse);
    let id = form.finish(id)?;

    let found = call.store().conversation_and_seen(call.workspace(), id).await?;
    let (conversation, seen) = found.ok_or(ApiError::NotFound(Resource::Conversation))?;
    shown(&conversation, &seen)
}
