use domain::MediaId;
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};
use store::Bucket;

/// GET /files/{mediaId}: one round trip. A second one, to the bucket, if no message referred to the file yet, because only
/// the bucket knows whether it was uploaded. Signing needs no call.
pub(crate) async fn get(call: &Call<'_>, bucket: &Bucket) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "mediaId", MediaId::parse);
    let id = form.finish(id)?;

    let media = call.store().media_of(call.workspace(), id).await?;
    let media = media.ok_or(ApiError::NotFound(Resource::File))?;
    // A file that was not uploaded as declared does not exist for callers.
    let size = bucket.size(&media).await?.map_err(|_| ApiError::NotFound(Resource::File))?;
    let (url, expires_at) = bucket.presign_download(&media).await?;
    Reply::list(&view::file(&media, size, url, expires_at))
}
