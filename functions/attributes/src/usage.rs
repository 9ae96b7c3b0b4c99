use domain::usage::{Span, Step};
use edge::form::{Form, Rejection, moment};
use edge::{ApiError, Call, Reply, view};

/// GET /usage: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["from", "to", "step"]);
    let (from, to) = (query.text(&mut form, "from", moment), query.text(&mut form, "to", moment));
    let step = query.text(&mut form, "step", Step::parse).unwrap_or(Step::Hour);
    let span = Span::of(from, to, step, call.store().now())
        .map_err(|unfit| form.fail(&query.field("from"), Rejection::Unfit(unfit)))
        .ok();
    let span = form.finish(span)?;
    let steps = call.store().usage(call.workspace(), span).await?;
    Reply::list(&view::UsageView { steps: steps.iter().map(view::usage_step).collect() })
}
