use domain::TemplateId;
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};

/// GET /templates/{templateId}: one round trip; two if the lines changed since the process remembered them.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "templateId", TemplateId::parse);
    let id = form.finish(id)?;

    let read = call.store().template_read(call.workspace(), id, None, &[]).await?;
    let template = read.template.ok_or(ApiError::NotFound(Resource::Template))?;
    Reply::resource(&view::template(&template, &read.lines.accounts(None)), 0)
}
