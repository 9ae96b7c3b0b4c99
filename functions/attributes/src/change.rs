//! Changes of custom attributes.

use admin::{Created, Refused};
use domain::attribute::{DefinitionChange, DefinitionUnfit, NewAttribute};
use domain::{AttributeCategory, AttributeDefinition, AttributeId, AttributeType, ClosedValueId, Unfit};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, OfCall, Reply, created_again, view};

/// POST /settings/attributes: three round trips. With an `Idempotency-Key`, a repeat gets the same answer.
pub(crate) async fn create(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "attributes");
    let definition = read_new(&mut form, Node::root("body", Some(&body)), call);
    let definition = form.finish(definition)?;

    let reply = Reply::resource(&view::attribute(&definition), 0)?;
    let kept = once.as_ref().map(|once| (once, reply.body()));
    match OfCall::admin(call).create_attribute(&definition, kept).await? {
        Created::Done => Ok(reply.created()),
        Created::Answered(answered) => created_again(once.as_ref(), answered, Reply::resource_again),
    }
}

/// PATCH /settings/attributes/{attributeId}: three round trips.
pub(crate) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let change = read_change(&mut form, Node::root("body", Some(&body)));
    let (id, change) = form.finish(id.zip(change))?;

    let now = call.store().now();
    change_one(call, id, |seen| seen.changed(&change, now).map_err(Refused::AttributeUnfit)).await
}

/// POST /settings/attributes/{attributeId}/values: three round trips. A repeat changes nothing.
pub(crate) async fn add_value(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let value = read_value(&mut form, Node::root("body", Some(&body)));
    let (id, value) = form.finish(id.zip(value))?;

    let ids = call.store().ids();
    change_one(call, id, |seen| seen.with_value(&value, ids).map_err(Refused::AttributeUnfit)).await
}

/// PATCH /settings/attributes/{attributeId}/values/{valueId}: three round trips.
pub(crate) async fn rename_value(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let value = call.request.path_id(&mut form, "valueId", ClosedValueId::parse);
    let text = read_value(&mut form, Node::root("body", Some(&body)));
    let ((id, value), text) = form.finish(id.zip(value).zip(text))?;

    let renamed = |seen: &AttributeDefinition| {
        seen.closed_value(value).ok_or_else(|| Refused::UnknownValue(value.to_string()))?;
        seen.with_renamed_value(value, &text).map_err(Refused::AttributeUnfit)
    };
    change_one(call, id, renamed).await
}

async fn change_one(
    call: &Call<'_>,
    id: AttributeId,
    change: impl Fn(&AttributeDefinition) -> Result<Option<AttributeDefinition>, Refused>,
) -> Result<Reply, ApiError> {
    let definition = OfCall::admin(call).update_attribute(id, change).await?;
    Reply::resource(&view::attribute(&definition), 0)
}

fn path_id(call: &Call<'_>, form: &mut Form) -> Option<AttributeId> {
    call.request.query().only(form, &[]);
    call.request.path_id(form, "attributeId", AttributeId::parse)
}

fn read_new(form: &mut Form, body: Node<'_>, call: &Call<'_>) -> Option<AttributeDefinition> {
    let body = body.object(form)?.only(form, &["keyName", "category", "type", "isRequired", "values"]);
    let key_name = body.field("keyName").required(form);
    let key_name = key_name.and_then(|at| at.text(form, AttributeDefinition::key_name));
    let category = body.field("category").required(form);
    let category = category.and_then(|at| at.text(form, AttributeCategory::parse));
    let attribute_type = match body.field("type").given() {
        Some(at) => at.text(form, AttributeType::parse),
        None => Some(AttributeType::Text),
    };
    let is_required = body.field("isRequired").given().map_or(Some(false), |at| at.boolean(form));
    let values = body.field("values").given().map_or(vec![], |at| {
        let items = at.items(form, 0, AttributeDefinition::MAX_VALUES);
        items.iter().filter_map(|at| at.text(form, AttributeDefinition::value)).collect()
    });
    let new = NewAttribute {
        category: category?,
        attribute_type: attribute_type?,
        key_name: &key_name?,
        is_required: is_required?,
        values: &values,
    };
    let made = AttributeDefinition::new(call.workspace(), &new, call.store().ids(), call.store().now());
    let refuse = |unfit| form.fail(&body.field("values"), Rejection::Unfit(of_values(unfit)));
    made.map_err(refuse).ok()
}

/// What is wrong with the values of a new attribute.
fn of_values(unfit: DefinitionUnfit) -> Unfit {
    let reason = match unfit {
        DefinitionUnfit::KeyName(unfit) | DefinitionUnfit::Value { reason: unfit, .. } => return unfit,
        DefinitionUnfit::OpenWithValues => "an OPEN attribute has no values",
        DefinitionUnfit::NumberOfValues => "a CLOSED attribute has 1 to 50 values",
        DefinitionUnfit::ValueTaken { .. } => "is repeated",
    };
    Unfit::Value { reason }
}

fn read_change(form: &mut Form, body: Node<'_>) -> Option<DefinitionChange> {
    let body = body.object(form)?.only(form, &["keyName", "isRequired", "archived"]);
    let mut flag = |name: &str| {
        let at = body.field(name);
        if at.is_absent() { None } else { at.boolean(form) }
    };
    let (is_required, is_archived) = (flag("isRequired"), flag("archived"));
    let key_name = body.field("keyName");
    let key_name =
        if key_name.is_absent() { None } else { key_name.text(form, AttributeDefinition::key_name) };
    Some(DefinitionChange { key_name, is_required, is_archived })
}

fn read_value(form: &mut Form, body: Node<'_>) -> Option<String> {
    let body = body.object(form)?.only(form, &["value"]);
    body.field("value").required(form).and_then(|at| at.text(form, AttributeDefinition::value))
}
