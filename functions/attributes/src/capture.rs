//! The settings of lead capture.

use admin::JudgedCapture;
use domain::lead::captcha::Threshold;
use domain::lead::capture::{CaptureChange, OriginsChange};
use domain::secret::{Randomness, numbers};
use domain::{BrandId, Capture, CaptureKey, TemplateId, WebOrigin};
use edge::form::{Form, Node};
use edge::{ApiError, Call, OfCall, Reply, Tagged, view};

/// What the settings need of the deployment.
pub struct Capturing<'a> {
    /// The URL of the lead capture API.
    pub url: &'a str,
    /// Makes keys.
    pub random: &'a dyn Randomness,
}

impl Capturing<'_> {
    /// GET /settings/capture: two round trips.
    pub(crate) async fn get(&self, call: &Call<'_>) -> Result<Reply, ApiError> {
        call.without_query()?;
        match admin::capture::<ApiError>(call.store(), call.workspace()).await? {
            Some(judged) => self.reply(judged),
            None => {
                // The settings that the first change would find. Nobody has the key, so it is not shown.
                let new = Capture::new(call.workspace(), self.key(), call.store().now());
                None::<Capture>.tag(Reply::list(&view::capture(&new, None, &[], self.url))?)
            }
        }
    }

    /// PATCH /settings/capture: three round trips; two if it changes nothing.
    pub(crate) async fn update(&self, call: &Call<'_>) -> Result<Reply, ApiError> {
        let body = call.request.json()?;
        let mut form = Form::default();
        call.request.query().only(&mut form, &[]);
        let change = read(&mut form, Node::root("body", Some(&body)));
        let change = form.finish(change)?;
        self.reply(OfCall::admin(call).update_capture(&change, &self.key()).await?)
    }

    /// POST /settings/capture/rotate-key: three round trips.
    pub(crate) async fn rotate_key(&self, call: &Call<'_>) -> Result<Reply, ApiError> {
        call.without_query()?;
        self.reply(OfCall::admin(call).rotate_capture_key(&self.key()).await?)
    }

    fn key(&self) -> CaptureKey {
        CaptureKey::from_entropy(numbers(self.random))
    }

    fn reply(&self, judged: JudgedCapture) -> Result<Reply, ApiError> {
        let capture = &judged.capture;
        let view = view::capture(capture, Some(&capture.key), &judged.unreachable(), self.url);
        Some(capture.clone()).tag(Reply::list(&view)?)
    }
}

/// An absent field stays as it is. `null` clears a brand, a template or a cap. `rate` is the operator's.
fn read(form: &mut Form, body: Node<'_>) -> Option<CaptureChange> {
    const FIELDS: &[&str] = &[
        "enabled",
        "origins",
        "brandId",
        "leadTemplateId",
        "threshold",
        "dailyCap",
        "phoneCap",
        "captchaSecret",
    ];
    let body = body.object(form)?.only(form, FIELDS);
    let field = |name: &str| Some(body.field(name)).filter(|at| !at.is_absent());
    let cap = |form: &mut Form, at: &Node<'_>| at.number::<u32>(form, 1, u32::MAX);
    let origins = field("origins").map_or_else(OriginsChange::default, |at| {
        let items = at.items(form, 0, Capture::MAX_ORIGINS);
        OriginsChange::Replace(items.iter().filter_map(|at| at.text(form, WebOrigin::written)).collect())
    });
    Some(CaptureChange {
        enabled: field("enabled").and_then(|at| at.boolean(form)),
        origins,
        brand: body.patch(form, "brandId", |form, at| at.text(form, BrandId::parse)),
        template: body.patch(form, "leadTemplateId", |form, at| at.text(form, TemplateId::parse)),
        threshold: field("threshold").and_then(|at| at.decimal(form, Threshold::parse)),
        daily_cap: body.patch(form, "dailyCap", cap),
        phone_cap: body.patch(form, "phoneCap", cap),
        rate: None,
        secret: field("captchaSecret").and_then(|at| at.secret(form, Capture::secret)),
    })
}
