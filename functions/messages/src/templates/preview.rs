use std::collections::BTreeMap;

use domain::media::Attached;
use domain::settings::template::{Fault, FaultKind, Filler, Filling, Parameters, Sendable};
use domain::{
    BusinessAccountId, ChannelId, ContactId, Media, MediaId, Refused, Template, TemplateId, TemplateStatus,
};
use edge::form::{Form, Node};
use edge::view::ProblemView;
use edge::{ApiError, Call, Reply, Resource, template, view};
use futures::future::try_join_all;
use store::Bucket;

use crate::create::files_of;
use crate::messages::Messages;

/// POST /templates/{templateId}/preview: one round trip; two if the lines changed since the process remembered them, and one to
/// the bucket if the values name files that no message referred to before. Nothing is written, and the provider is not called.
pub(crate) async fn preview(messages: &Messages, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "templateId", TemplateId::parse);
    let wanted = read_wanted(&mut form, Node::root("body", Some(&body)));
    let (id, wanted) = form.finish(id.zip(wanted))?;

    let (store, named) = (call.store(), files_of(&wanted.parameters));
    let read = store.template_read(call.workspace(), id, wanted.contact, &named).await?;
    let template = read.template.ok_or(ApiError::NotFound(Resource::Template))?;
    let contact = match (wanted.contact, read.contact) {
        (Some(id), None) => {
            let (identifier, identifier_type) = (id.to_string(), "ID");
            return Err(Refused::UnknownParticipant { identifier, identifier_type }.into());
        }
        (_, contact) => contact,
    };
    let accounts = read.lines.accounts(wanted.channel.as_ref());
    if let (Some(_), true) = (&wanted.channel, accounts.is_empty()) {
        return Err(Refused::UnknownLine { channel: wanted.channel, brand: None }.into());
    }
    let looked = look_at(&messages.bucket, &named, read.media).await?;

    let fitting = looked.iter().map(|(id, file)| (*id, file.as_ref().ok().cloned())).collect();
    let files = template.files_of(&wanted.parameters, &fitting);
    let filled = |contact| {
        let (given, now) = (&wanted.parameters, store.now());
        template.filled(&Filler { given, files: &files, contact, now, is_object: edge::is_object })
    };
    let accepted = filled(None);
    let sent = contact.as_ref().map(|contact| filled(Some(contact.values())));
    let mut problems: Vec<ProblemView> = status_problem(&template, &accounts).into_iter().collect();
    let of_request = |fault: &Fault| refusal(fault, &wanted.parameters, &looked);
    problems.extend(accepted.faults.iter().map(of_request));
    problems.extend(sent.iter().flat_map(|sent| failures(sent, &accepted)));
    Reply::list(&view::template_preview(&template, sent.as_ref().unwrap_or(&accepted), problems))
}

/// What to preview.
struct Wanted {
    parameters: Parameters,
    contact: Option<ContactId>,
    channel: Option<ChannelId>,
}

fn read_wanted(form: &mut Form, body: Node<'_>) -> Option<Wanted> {
    let body = body.object(form)?;
    let parameters = body.field("parameters").given();
    let contact = body.field("contactId").given();
    let channel = body.field("providerChannelId").given();
    Some(Wanted {
        parameters: parameters.map(|at| template::read_parameters(form, &at)).unwrap_or_default(),
        contact: contact.and_then(|at| at.text(form, ContactId::parse)),
        channel: channel.and_then(|at| at.text(form, ChannelId::parse)),
    })
}

/// The files that the values name, or why a message cannot have them.
type Looked = BTreeMap<MediaId, Result<Attached, Refused>>;

async fn look_at(bucket: &Bucket, named: &[MediaId], known: Vec<Media>) -> Result<Looked, ApiError> {
    let sizes = try_join_all(known.iter().map(|media| bucket.size(media))).await?;
    let found = known.iter().zip(sizes);
    let found = found.map(|(media, size)| (media.id, size.map(|size| media.attached(size))));
    let unknown = named.iter().map(|media| (*media, Err(Refused::UnknownMedia { media: *media })));
    Ok(unknown.chain(found).collect())
}

/// The problem of a template that can be sent for none of the accounts.
fn status_problem(template: &Template, accounts: &[&BusinessAccountId]) -> Option<ProblemView> {
    if accounts.iter().any(|account| template.sendable(account) == Sendable::Now) {
        return None;
    }
    let status = accounts.iter().find_map(|account| template.status(account)).map(TemplateStatus::as_str);
    let reason = match status {
        Some(status) => format!("is {status} for the business account of the line"),
        None => "is not known to the business account of a line".to_owned(),
    };
    Some(ProblemView::not_approved(reason))
}

/// The refusal of a request with this fault.
fn refusal(fault: &Fault, given: &Parameters, looked: &Looked) -> ProblemView {
    let file = given.get(&fault.parameter).and_then(|value| MediaId::parse(value.as_str()).ok());
    match file.and_then(|id| looked.get(&id)?.as_ref().err()) {
        Some(refused) if fault.kind == FaultKind::Unfit => ProblemView::file_refused(fault, refused),
        _ => ProblemView::refused(fault),
    }
}

/// The errors of a part for this contact whose request was accepted.
fn failures(sent: &Filling, accepted: &Filling) -> impl Iterator<Item = ProblemView> {
    let is_new = |fault: &&Fault| {
        let known = |other: &Fault| other.kind == fault.kind && other.parameter == fault.parameter;
        !accepted.faults.iter().any(known)
    };
    sent.faults.iter().filter(is_new).map(ProblemView::fails)
}
