use domain::media::{Declared, FileName, Mismatch};
use domain::{FileType, Media, MediaDigest, MediaId};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, Reply, replay, view};
use store::{Bucket, IdempotencyKey, MediaCreated, StoredAnswer, Table};

/// POST /files: one round trip after the rate limiter's, because it only writes. An idempotency key with a stored
/// answer is looked up together with the rate limiter. Signing needs no call.
pub(crate) async fn create(call: &Call<'_>, bucket: &Bucket) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "files");
    let files = read_files(&mut form, &Node::root("body", Some(&body)));
    let files = form.finish(files)?;

    let (store, workspace) = (call.store(), call.workspace());
    if let Some(once) = &once
        && let Some(answered) = store.answered(Table::Media, workspace, once).await?
    {
        return again(call, bucket, once, answered, &files).await;
    }
    let now = store.now();
    let ready = |file| Media::ready(file, workspace, store.ids(), now);
    let media: Vec<Media> = files.iter().map(ready).collect();
    let ids: Vec<MediaId> = media.iter().map(|media| media.id).collect();
    // The function signs first, because rows of files without an upload URL would be useless.
    let reply = signed(call, bucket, &ids, &files).await?;

    call.caller.admitted().await?;
    let write_id = call.write_id();
    let answer = kept(&ids);
    let guarded = once.as_ref().map(|once| (once, answer.as_str()));
    match (store.create_media(&media, guarded, &write_id).await?, &once) {
        // A concurrent request with the same key was first.
        (MediaCreated::Answered(answered), Some(once)) => again(call, bucket, once, answered, &files).await,
        _ => Ok(reply),
    }
}

/// The answer to a repeated request: the same files with new signatures.
async fn again(
    call: &Call<'_>,
    bucket: &Bucket,
    once: &IdempotencyKey,
    answered: StoredAnswer,
    files: &[Declared],
) -> Result<Reply, ApiError> {
    // The body is the same, so its files are the same.
    let ids = read_kept(&replay(Some(once), answered)?)?;
    Ok(signed(call, bucket, &ids, files).await?.replayed())
}

async fn signed(
    call: &Call<'_>,
    bucket: &Bucket,
    ids: &[MediaId],
    files: &[Declared],
) -> Result<Reply, ApiError> {
    let mut uploads = vec![];
    for (id, file) in ids.iter().zip(files) {
        let url = bucket.presign_put(call.workspace(), *id, file).await?;
        uploads.push(view::upload(*id, file, url));
    }
    Ok(Reply::list(&uploads)?.created())
}

/// The stored part of an answer: the ids in their order. URLs are not stored.
fn kept(ids: &[MediaId]) -> String {
    ids.iter().map(MediaId::to_string).collect::<Vec<_>>().join(" ")
}

fn read_kept(answer: &str) -> Result<Vec<MediaId>, ApiError> {
    let ids = answer.split(' ').map(MediaId::parse).collect::<Result<_, _>>();
    ids.map_err(|_| ApiError::unexpected("the stored response of an idempotency key is not a list of ids"))
}

fn read_files(form: &mut Form, body: &Node<'_>) -> Option<Vec<Declared>> {
    let items = body.items(form, 1, Media::MAX_AT_ONCE);
    // The function reads all items before it checks for errors, so the answer names every error.
    let files: Vec<Option<Declared>> = items.into_iter().map(|item| read_file(form, item)).collect();
    files.into_iter().collect()
}

fn read_file(form: &mut Form, item: Node<'_>) -> Option<Declared> {
    let item = item.object(form)?;
    let name = item.field("name").required(form).and_then(|at| at.text(form, FileName::parse));
    let file_type = item.field("fileType").required(form).and_then(|at| at.text(form, FileType::parse));
    let digest = item.field("checksumBase64").required(form).and_then(|at| at.text(form, MediaDigest::parse));
    let content_type =
        item.field("contentType").required(form).and_then(|at| at.text(form, |text| Ok(text.to_owned())));
    let size = item.field("contentLength").given().map(|at| read_size(form, &at, file_type));
    let (name, file_type) = (name?, file_type?);
    let content_type = read_format(form, &item, file_type, &name, &content_type?)?;
    Some(Declared { name, file_type, content_type, digest: digest?, size: size.flatten() })
}

/// `contentLength`: at least one byte, and at most the limit of the file type if the type is known.
fn read_size(form: &mut Form, at: &Node<'_>, file_type: Option<FileType>) -> Option<u64> {
    let most = file_type.and_then(|file_type| i64::try_from(file_type.max_bytes()).ok());
    let size = at.integer(form, 1, most.unwrap_or(i64::MAX))?;
    u64::try_from(size).ok()
}

/// The MIME type, if the extension, `contentType` and `fileType` match.
fn read_format(
    form: &mut Form,
    item: &Node<'_>,
    file_type: FileType,
    name: &FileName,
    content_type: &str,
) -> Option<&'static str> {
    let mismatches = match file_type.format(name, content_type) {
        Ok(format) => return Some(format),
        Err(mismatches) => mismatches,
    };
    for mismatch in mismatches {
        let (field, reason, expected) = match mismatch {
            Mismatch::Extension { expected } => {
                ("name", "the extension does not match the fileType", expected)
            }
            Mismatch::ContentType { expected } => {
                ("contentType", "the contentType does not match the fileType and the extension", expected)
            }
        };
        form.fail(&item.field(field), Rejection::Mismatch { reason, expected });
    }
    None
}
