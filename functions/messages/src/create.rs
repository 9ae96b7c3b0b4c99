use std::collections::{BTreeMap, BTreeSet};

use domain::media::Attached;
use domain::message::{Content, Draft};
use domain::refused::{MediaFault, Origin};
use domain::settings::line::Reached;
use domain::settings::template::{Accepting, FileKind, Parameters, Requested, TemplateContent};
use domain::{
    Conversation, ConversationId, Lines, Media, MediaId, Message, MessageBody, MessageId, Refused, Template,
    Timestamp,
};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, Reply, replay, template, view};
use futures::future::try_join_all;
use store::{Bucket, DraftRead, IdempotencyKey, MessageStored, NewMessage, StoredAnswer};

use crate::messages::Messages;

/// POST /messages: two round trips of one call each. A template needs the lines too, so its first trip has two calls. Between
/// the two trips is one to the bucket if the message has files that no message referred to before.
pub(crate) async fn create(messages: &Messages, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "messages");
    let wanted = read_wanted(&mut form, Node::root("body", Some(&body)));
    let wanted = form.finish(wanted)?;

    // The service makes its own ids, and each try uses the same ones. The write recognises its own repeats by them.
    let ids = call.store().ids();
    let (id, write_id) = (MessageId::generate(ids), call.write_id());
    call.until_written(|| take(messages, call, &wanted, once.as_ref(), id, &write_id)).await
}

/// One try: reads, checks the files and writes. Returns `None` if something changed in between.
async fn take(
    messages: &Messages,
    call: &Call<'_>,
    Wanted { draft, template }: &Wanted,
    once: Option<&IdempotencyKey>,
    id: MessageId,
    write_id: &str,
) -> Result<Option<Reply>, ApiError> {
    let (store, workspace) = (call.store(), call.workspace());
    let (read, of_template) = match template {
        None => (store.draft_read(workspace, draft, once).await?, None),
        Some(requested) => {
            let template = requested.template;
            let read = store.template_draft_read(workspace, draft, template, once).await?;
            (read.draft, Some((requested, read.template, read.lines)))
        }
    };
    let DraftRead { answered, conversation, last_seq, replied, media } = read;
    if let (Some(once), Some(answered)) = (once, answered) {
        return replayed(once, answered).map(Some);
    }
    let conversation = draft.target(conversation, replied.as_ref())?;
    let judge = of_template.as_ref().map(|(requested, template, lines)| Judge {
        requested,
        template: template.as_ref(),
        lines: lines_of(&conversation, lines),
        now: store.now(),
    });
    // A template is judged before its files are looked at in the bucket, and with their sizes.
    if let Some(judge) = &judge {
        let declared = media.iter().map(|media| (media.id, Some(media.attached(media.size.unwrap_or(0)))));
        judge.accept(draft.media.iter().map(|id| (*id, None)).chain(declared).collect())?;
    }
    let files = look_at(call, &messages.bucket, draft, media).await?;

    let now = store.now();
    let message = match &judge {
        None => draft.message(id, &conversation, last_seq + 1, files.attached, now),
        Some(judge) => {
            let media = files.attached.into_iter().map(|file| (file.media, Some(file))).collect();
            let content = Content::Template(judge.accept(media)?);
            draft.with(content, id, &conversation, last_seq + 1, now)
        }
    };
    let active = conversation.at_interaction(now).filter(|_| message.is_broadcast());
    let answer = id.to_string();
    let new = NewMessage {
        message: &message,
        first_references: &files.first_references,
        conversation: active.as_ref().map(|active| (&conversation, active)),
        kept: once.map(|once| (once, answer.as_str())),
    };
    call.caller.admitted().await?;
    match store.store_message(&new, messages.first_due, write_id).await? {
        MessageStored::Done => created(id).map(Some),
        MessageStored::Answered(answered) => match once {
            Some(once) => replayed(once, answered).map(Some),
            None => Err(ApiError::unexpected("a response was stored without an idempotency key")),
        },
        MessageStored::Stale => Ok(None),
    }
}

/// What decides about a template.
struct Judge<'a> {
    requested: &'a Requested,
    template: Option<&'a Template>,
    lines: Vec<Reached>,
    now: Timestamp,
}

impl Judge<'_> {
    /// The content of the message with these files.
    fn accept(&self, media: BTreeMap<MediaId, Option<Attached>>) -> Result<TemplateContent, Refused> {
        let (template, origin) = (self.requested.template, Origin::Request);
        let found = self.template.ok_or(Refused::UnknownTemplate { template, origin })?;
        let (lines, media) = (&self.lines[..], &media);
        let with = Accepting { lines, media, now: self.now, is_object: edge::is_object };
        found.accept(self.requested, &with, origin)
    }
}

/// The lines that reach the customers.
fn lines_of(conversation: &Conversation, lines: &Lines) -> Vec<Reached> {
    let found = conversation.externals.iter().filter_map(|external| lines.line(&external.channel));
    found.map(Reached::from).collect()
}

/// The files of a message.
struct Files {
    attached: Vec<Attached>,
    /// The files that no message referred to before, with their actual sizes.
    first_references: Vec<(Media, u64)>,
}

/// Checks the draft's files. `known` are the existing ones. The function looks in the bucket for those that no
/// message referred to before, all at the same time, and deletes files that are too large.
async fn look_at(
    call: &Call<'_>,
    bucket: &Bucket,
    draft: &Draft,
    known: Vec<Media>,
) -> Result<Files, ApiError> {
    let is_known = |id: &MediaId| known.iter().any(|media| media.id == *id);
    if let Some(unknown) = draft.media.iter().find(|id| !is_known(id)) {
        return Err(Refused::UnknownMedia { media: *unknown }.into());
    }
    let looked = try_join_all(known.iter().map(|media| bucket.size(media))).await?;
    let refused: Vec<MediaId> = looked.iter().filter_map(refused_by_size).collect();
    if !refused.is_empty() {
        call.caller.admitted().await?;
        try_join_all(refused.iter().map(|id| bucket.delete(call.workspace(), *id))).await?;
    }
    let sizes = looked.into_iter().collect::<Result<Vec<u64>, Refused>>()?;
    let files = || known.iter().zip(&sizes);
    Ok(Files {
        attached: files().map(|(media, size)| media.attached(*size)).collect(),
        first_references: files()
            .filter(|(media, _)| !media.is_referenced())
            .map(|(media, size)| (media.clone(), *size))
            .collect(),
    })
}

fn refused_by_size(looked: &Result<u64, Refused>) -> Option<MediaId> {
    match looked {
        Err(Refused::MediaUnfit { media, reason: MediaFault::TooLarge { .. } | MediaFault::Empty }) => {
            Some(*media)
        }
        _ => None,
    }
}

fn created(id: MessageId) -> Result<Reply, ApiError> {
    Ok(Reply::list(&view::message_created(id))?.created())
}

fn replayed(once: &IdempotencyKey, answered: StoredAnswer) -> Result<Reply, ApiError> {
    let id = MessageId::parse(&replay(Some(once), answered)?);
    let id = id
        .map_err(|_| ApiError::unexpected("the stored response of an idempotency key is not a message id"))?;
    Ok(created(id)?.replayed())
}

/// A message in a request: a text, files, or a template.
struct Wanted {
    /// Of a template, the files are those that its values name.
    draft: Draft,
    template: Option<Requested>,
}

fn read_wanted(form: &mut Form, body: Node<'_>) -> Option<Wanted> {
    let body = body.object(form)?;
    let conversation = body
        .field("conversationId")
        .required(form)
        .and_then(|conversation| conversation.text(form, ConversationId::parse));
    let text = body.field("messageBody").given();
    let media = body.field("mediaIds").given().filter(|media| !media.is_empty_list());
    let template = body.field("template").given();
    if text.is_none() && media.is_none() && template.is_none() {
        form.fail(&body.field("messageBody"), Rejection::Missing);
    }
    let has_more = text.is_some() || media.is_some();
    let text = text.and_then(|text| text.text(form, MessageBody::parse));
    let media = media.map(|media| read_media(form, &media)).unwrap_or_default();
    let broadcast =
        body.field("enableExternalBroadcast").given().map_or(Some(true), |given| given.boolean(form));
    let is_template = template.is_some();
    if let Some(at) = template.as_ref().filter(|_| has_more || broadcast == Some(false)) {
        let reason = "a template goes to the customers, and alone: without messageBody and mediaIds";
        form.fail(at, Rejection::Refused(reason));
    }
    let template = template.and_then(|at| template::read(form, at));
    let reply_to =
        body.field("replyToMessageId").given().and_then(|reply_to| reply_to.text(form, MessageId::parse));
    let draft = Draft {
        conversation: conversation?,
        body: text,
        media: template.as_ref().map_or(media, |template| files_of(&template.parameters)),
        broadcast: broadcast?,
        reply_to,
    };
    (is_template == template.is_some()).then_some(Wanted { draft, template })
}

/// The files that a template's values name, each once. Whether their places take files is known with the template.
pub(crate) fn files_of(parameters: &Parameters) -> Vec<MediaId> {
    let is_file = |name: &str| {
        FileKind::NAMES
            .iter()
            .any(|kind| name.strip_suffix(kind).is_some_and(|rest| rest.ends_with("header.")))
    };
    let named = parameters.iter().filter(|(name, _)| is_file(name));
    let files = named.filter_map(|(_, value)| MediaId::parse(value.as_str()).ok());
    files.collect::<BTreeSet<_>>().into_iter().take(Message::MAX_MEDIA).collect()
}

/// `mediaIds`: each file may appear once.
fn read_media(form: &mut Form, at: &Node<'_>) -> Vec<MediaId> {
    let mut media = vec![];
    for item in at.items(form, 0, Message::MAX_MEDIA) {
        let Some(id) = item.text(form, MediaId::parse) else { continue };
        if media.contains(&id) {
            form.fail(&item, Rejection::Refused("the file is named twice"));
        }
        media.push(id);
    }
    media
}
