use domain::conversation::{ConversationUpdate, KnownPeople, People};
use domain::{
    ContactRef, Conversation, ConversationId, ConversationName, ConversationStatus, Lines, Refused, UserRef,
};
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, Resource};
use futures::future::try_join;
use store::{Changed, Naming};

use crate::people::{read_all, read_external, read_internal};
use crate::shown::shown;

/// PATCH /conversations/{conversationId}: two round trips. A field that the body omits stays unchanged.
pub(crate) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "conversationId", ConversationId::parse);
    let update = read_update(&mut form, Node::root("body", Some(&body)));
    let (id, update) = form.finish(id.zip(update))?;

    // The service makes its own id, because a gateway's request id may repeat (a replayed event). The write
    // recognises its own repeats by it.
    let write_id = call.write_id();
    let reply = call.until_written(|| merge(call, id, &update, &write_id)).await?;
    Ok(reply.ignoring(&body, &FIELDS))
}

/// The fields of a `ConversationUpdate`.
const FIELDS: [&str; 3] = ["name", "status", "participants"];

/// One try: reads, applies and writes. Returns `None` if another writer changed the conversation in between.
async fn merge(
    call: &Call<'_>,
    id: ConversationId,
    update: &ConversationUpdate,
    write_id: &str,
) -> Result<Option<Reply>, ApiError> {
    let (store, workspace) = (call.store(), call.workspace());
    let added = update.add_externals.iter().map(|external| &external.named);
    let contacts: Vec<ContactRef> = added.chain(&update.remove_externals).cloned().collect();
    let users: Vec<UserRef> = update.add_internals.iter().chain(&update.remove_internals).cloned().collect();
    let found = async { Ok(store.conversation_and_seen(workspace, id).await?) };
    let (found, (known, lines)) = try_join(found, named(call, update, &contacts, &users)).await?;
    let (current, seen) = found.ok_or(ApiError::NotFound(Resource::Conversation))?;
    let unchanged = shown(&current, &seen)?;
    call.request.check_if_match(&unchanged)?;
    let people = People { workspace, known: &known, lines: &lines, ids: store.ids(), now: store.now() };
    let Some(change) = current.apply(update, &people)? else {
        return Ok(Some(unchanged));
    };
    let change = change.retained(&current, store.retention().conversations);

    call.caller.admitted().await?;
    match store.change_conversation(&current, &change, write_id).await? {
        Changed::Done => shown(&change.conversation, &seen).map(Some),
        Changed::Stale => Ok(None),
        Changed::TooManyNewContacts(max) => Err(Refused::TooManyNewContacts { max }.into()),
    }
}

/// Reads the people whom the update names, and the workspace's lines if the update needs one to reach a participant.
async fn named(
    call: &Call<'_>,
    update: &ConversationUpdate,
    contacts: &[ContactRef],
    users: &[UserRef],
) -> Result<(KnownPeople, Lines), ApiError> {
    let (store, workspace) = (call.store(), call.workspace());
    if update.add_externals.is_empty() {
        return Ok((store.people_named(workspace, contacts, users).await?, Lines::default()));
    }
    let named = store.named(workspace, &Naming { contacts, users, ..Naming::default() }).await?;
    named.workspace.ok_or_else(ApiError::no_workspace)?;
    Ok((named.people, named.lines))
}

/// A `ConversationUpdate`. Only the name may be `null`, which clears it.
fn read_update(form: &mut Form, body: Node<'_>) -> Option<ConversationUpdate> {
    let body = body.object(form)?;
    let name = body.patch(form, "name", |form, at| at.text(form, ConversationName::parse));
    let status = sent(body.field("status")).and_then(|at| at.text(form, ConversationStatus::parse));
    let participants = sent(body.field("participants")).and_then(|at| at.object(form));
    let participants = participants.as_ref();
    let side = |form: &mut Form, name: &str| {
        participants.and_then(|at| sent(at.field(name))).and_then(|at| at.object(form))
    };
    let externals = side(form, "externals");
    let internals = side(form, "internals");
    let (add, remove) = changes(form, externals, Conversation::MAX_EXTERNALS, read_external);
    let (add_internals, remove_internals) =
        changes(form, internals, Conversation::MAX_INTERNALS, read_internal);
    Some(ConversationUpdate {
        name,
        status,
        add_externals: add,
        remove_externals: remove.into_iter().map(|external| external.named).collect(),
        add_internals,
        remove_internals,
    })
}

/// `{add, remove}`: two arrays, each limited to the maximum of such participants in a conversation.
fn changes<T>(
    form: &mut Form,
    at: Option<Node<'_>>,
    max: usize,
    read: impl Fn(&mut Form, Node<'_>) -> Option<T>,
) -> (Vec<T>, Vec<T>) {
    let mut list = |name: &str| {
        let list = at.as_ref().and_then(|at| sent(at.field(name)));
        list.map(|list| read_all(form, &list, 0, max, &read)).unwrap_or_default()
    };
    (list("add"), list("remove"))
}

/// The node if the field was sent, even as `null`.
fn sent(at: Node<'_>) -> Option<Node<'_>> {
    (!at.is_absent()).then_some(at)
}
