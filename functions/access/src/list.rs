use domain::KeyId;
use edge::form::Form;
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;

/// GET /api-keys: two round trips.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor"]);
    let page_size = query.page_size(&mut form);
    let cursors = call.cursors("api-keys", &[]);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let (store, workspace) = (call.store(), call.workspace());
    let page = async { Ok(store.api_keys_page(workspace, page_size, after.as_deref()).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let ids: Vec<KeyId> = page.items.iter().map(|key| key.id).collect();
    let used = store.last_uses(workspace, &ids).await?;
    let api_keys = page.items.iter().zip(used).map(|(key, used)| view::api_key(key, used)).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::ApiKeysView { api_keys, cursor })
}
