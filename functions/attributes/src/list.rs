use domain::{AttributeCategory, AttributeId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};

/// GET /settings/attributes: one round trip, which reads the definitions only if they changed. The function filters in memory, because a workspace has at most 100
/// active definitions.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["category", "includeArchived", "isRequired"]);
    let category = query.text(&mut form, "category", AttributeCategory::parse);
    let include_archived = query.boolean(&mut form, "includeArchived").unwrap_or(false);
    let is_required = query.boolean(&mut form, "isRequired");
    form.finish(Some(()))?;

    let definitions = call.store().current_definitions(call.workspace()).await?;
    let now = call.store().now();
    let custom_attributes = definitions
        .iter()
        .filter(|definition| include_archived || !definition.is_archived(now))
        .filter(|definition| category.is_none_or(|wanted| definition.category == wanted))
        .filter(|definition| is_required.is_none_or(|wanted| definition.is_required == wanted))
        .map(view::attribute)
        .collect();
    Reply::list(&view::AttributesView { custom_attributes })
}

/// GET /settings/attributes/{attributeId}, also of an archived one: one round trip, as above.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "attributeId", AttributeId::parse);
    let id = form.finish(id)?;

    let definitions = call.store().current_definitions(call.workspace()).await?;
    let definition = definitions.iter().find(|definition| definition.id == id);
    Reply::resource(&view::attribute(definition.ok_or(ApiError::NotFound(Resource::Setting))?), 0)
}
