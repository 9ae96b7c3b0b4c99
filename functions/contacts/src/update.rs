use domain::attribute::AttributeDefinition;
use domain::contact::{AttributeUpdate, ContactUpdate, OpenContent};
use domain::{
    AttributeId, Cellphone, ClosedValueId, ContactId, Email, ExternalId, Language, PersonName, Refused,
    UserRef,
};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, Reply, people, view};
use store::{ContactRead, Replaced};

use crate::get::found;

/// PATCH /contacts/{contactId}: two round trips of one call each. A field that the body omits stays unchanged.
pub(crate) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "contactId", ContactId::parse);
    let update = read_update(&mut form, Node::root("body", Some(&body)));
    let (id, update) = form.finish(id.zip(update))?;

    // The service makes its own id, because a gateway's request id may repeat (a replayed event). The write
    // recognises its own repeats by it.
    let write_id = call.write_id();
    let reply = call.until_written(|| merge(call, id, &update, &write_id)).await?;
    Ok(reply.ignoring(&body, &FIELDS))
}

/// The fields of a `ContactUpdate`.
const FIELDS: [&str; 8] = [
    "firstName",
    "lastName",
    "email",
    "cellphone",
    "externalId",
    "languageCode",
    "ownerIdentifier",
    "customAttributes",
];

/// One try: reads, applies and writes. Returns `None` if another writer changed the contact in between.
async fn merge(
    call: &Call<'_>,
    id: ContactId,
    update: &ContactUpdate,
    write_id: &str,
) -> Result<Option<Reply>, ApiError> {
    let (store, workspace) = (call.store(), call.workspace());
    let read = store.contact_read(workspace, id, update.owner.as_set()).await?;
    let (current, ContactRead { definitions, named, .. }) = (found(&read)?, &read);
    let now = store.now();
    let shown = Reply::resource(&view::contact(current, definitions, now), definitions.version())?;
    call.request.check_if_match(&shown)?;
    let Some(next) = current.apply(update, definitions, named.as_ref(), now)? else {
        return Ok(Some(shown));
    };

    call.caller.admitted().await?;
    match store.replace_contact(current, &next, write_id).await? {
        Replaced::Done => {
            Reply::resource(&view::contact(&next, definitions, now), definitions.version()).map(Some)
        }
        Replaced::Stale => Ok(None),
        Replaced::Taken { field, contact } => Err(Refused::IdentityTaken { field, contact }.into()),
    }
}

fn read_update(form: &mut Form, body: Node<'_>) -> Option<ContactUpdate> {
    let body = body.object(form)?;
    Some(ContactUpdate {
        first_name: body.patch(form, "firstName", |form, at| at.text(form, PersonName::parse)),
        last_name: body.patch(form, "lastName", |form, at| at.text(form, PersonName::parse)),
        email: body.patch(form, "email", |form, at| at.text(form, Email::parse)),
        cellphone: body.patch(form, "cellphone", |form, at| at.text(form, Cellphone::parse)),
        external_id: body.patch(form, "externalId", |form, at| at.text(form, ExternalId::parse)),
        language: body.patch(form, "languageCode", |form, at| at.text(form, Language::parse)),
        owner: body.patch(form, "ownerIdentifier", read_owner),
        attributes: read_attributes(form, body.field("customAttributes")),
    })
}

fn read_owner(form: &mut Form, at: &Node<'_>) -> Option<UserRef> {
    let at = at.clone().object(form)?;
    people::user(form, &at.field("identifier"), &at.field("identifierType"))
}

/// `customAttributes`: entries of both lists. Each attribute may appear once.
fn read_attributes(form: &mut Form, at: Node<'_>) -> Vec<AttributeUpdate> {
    if at.is_absent() {
        return vec![];
    }
    let Some(at) = at.object(form) else { return vec![] };
    let (mut named, mut updates) = (vec![], vec![]);
    for (list, read) in [("openAttributes", read_open as ReadEntry), ("closedAttributes", read_closed)] {
        let list = at.field(list);
        if list.is_absent() {
            continue;
        }
        for entry in list.items(form, 0, AttributeDefinition::MAX_ACTIVE) {
            let Some(entry) = entry.object(form) else { continue };
            let attribute = read_attribute_id(form, &entry);
            if attribute.is_some_and(|id| named.contains(&id)) {
                form.fail(
                    &entry.field("customAttributeId"),
                    Rejection::Refused("the attribute is named twice"),
                );
            }
            named.extend(attribute);
            updates.extend(read(form, &entry, attribute));
        }
    }
    updates
}

type ReadEntry = fn(&mut Form, &Node<'_>, Option<AttributeId>) -> Option<AttributeUpdate>;

/// `{customAttributeId, content}`; `""` and `null` clear the attribute.
fn read_open(form: &mut Form, entry: &Node<'_>, attribute: Option<AttributeId>) -> Option<AttributeUpdate> {
    let content = entry.field("content").required(form)?;
    let content = if content.is_null() {
        None
    } else {
        content
            .text(form, |text| if text.is_empty() { Ok(None) } else { OpenContent::parse(text).map(Some) })?
    };
    Some(AttributeUpdate::Open { attribute: attribute?, content })
}

/// `{customAttributeId, closedCustomAttributeIds}`; `[]` and `null` clear the attribute. A repeated id counts once.
fn read_closed(form: &mut Form, entry: &Node<'_>, attribute: Option<AttributeId>) -> Option<AttributeUpdate> {
    let ids = entry.field("closedCustomAttributeIds").required(form)?;
    let mut values = vec![];
    if !ids.is_null() {
        for id in ids.items(form, 0, AttributeDefinition::MAX_VALUES) {
            if let Some(id) = id.text(form, ClosedValueId::parse)
                && !values.contains(&id)
            {
                values.push(id);
            }
        }
    }
    Some(AttributeUpdate::Closed { attribute: attribute?, values })
}

fn read_attribute_id(form: &mut Form, entry: &Node<'_>) -> Option<AttributeId> {
    entry.field("customAttributeId").required(form)?.text(form, AttributeId::parse)
}
