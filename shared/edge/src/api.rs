//! The frame around every handler: it authenticates the caller, runs the handler together with the limiter,
//! responds, and logs.

use std::ops::Deref;
use std::pin::pin;
use std::time::Duration;

use domain::{Author, Permission, Unfit, WorkspaceId, error_chain};
use lambda_http::{Body, Response};
use runtime::metrics::{ApiFunction, Counted, Denials, Requests};
use runtime::{Fields, Metrics};
use store::{CursorKeys, IdempotencyKey, RetryTime, Store, StoreError};
use tokio::time::Instant;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span, error_span};

use crate::auth::{Authenticator, Caller, Identity};
use crate::cursor::{self, Bounds};
use crate::error::ApiError;
use crate::form::{Form, Node};
use crate::idempotency;
use crate::reply::{Reply, respond};
use crate::request::ApiRequest;

/// How long a request may take. It is less than the functions' time-out (template.yaml), after which the
/// gateway returns only a general error.
const LONGEST: Duration = Duration::from_secs(9);

/// The state that all requests of a process share: the store, the cached keys, the limiter.
pub struct Api {
    store: Store,
    longest: Duration,
    authenticator: Authenticator,
    metrics: Metrics,
    function: ApiFunction,
}

/// A request whose caller is authenticated.
pub struct Call<'a> {
    api: &'a Api,
    /// The caller.
    pub caller: Caller,
    /// The request.
    pub request: &'a ApiRequest,
}

impl Api {
    /// An API with this store, in this function.
    pub fn new(store: Store, metrics: Metrics, function: ApiFunction) -> Self {
        Self { authenticator: Authenticator::new(store.clone()), store, longest: LONGEST, metrics, function }
    }

    /// The same API with another limit for the duration of a request.
    pub fn answering_within(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// Processes one request with `handler`, for callers whose key has this permission: mostly a scope.
    ///
    /// The limiter's write runs in parallel with the handler's first read. The handler must wait for
    /// [`Caller::admitted`] before it writes. The response is sent only after the limiter admits the request.
    pub async fn answer(
        &self,
        request: &ApiRequest,
        wanted: impl Into<Permission>,
        handler: impl AsyncFnOnce(&Call<'_>) -> Result<Reply, ApiError>,
    ) -> Response<Body> {
        let (began, wanted) = (Instant::now(), wanted.into());
        let mut known = None;
        let span = error_span!("request", requestId = request.id(), workspace = Empty, key = Empty);
        let work = async {
            let caller = self.authenticator.authorize(request, wanted).await?;
            known = Some(caller.identity());
            Span::current().record("workspace", display(caller.workspace()));
            Span::current().record("key", display(caller.identity().key));
            let call = Call { api: self, caller, request };
            let handled = pin!(handler(&call));
            let (admitted, answer) = futures::future::join(call.caller.admitted(), handled).await;
            admitted.and(answer)
        };
        // The runtime moves the future of a request, so the largest part of it is on the heap.
        let work = Box::pin(work.instrument(span));
        let answer = tokio::time::timeout(self.longest, work).await;
        let answer =
            answer.unwrap_or_else(|_| Err(StoreError::Busy("the request took too long".into()).into()));
        self.log(request, known, &answer, began.elapsed());
        respond(request.id(), answer, known.map(|caller| self.authenticator.allowance(caller)))
    }

    /// The response to a route or method that no function serves. Normally the gateway rejects these.
    pub fn no_such_route(&self, request: &ApiRequest) -> Response<Body> {
        let answer = Err(ApiError::NoRoute);
        self.log(request, None, &answer, Duration::ZERO);
        respond(request.id(), answer, None)
    }

    /// Logs one line for the request, which also contains its metrics. It is written at every `LOG_LEVEL`.
    fn log(
        &self,
        request: &ApiRequest,
        caller: Option<Identity>,
        answer: &Result<Reply, ApiError>,
        took: Duration,
    ) {
        let failure = answer.as_ref().err();
        let status = answer.as_ref().map_or_else(|failure| failure.code().status, Reply::status);
        let (requests, denials) = (Requests::default(), Denials::default());
        requests.request_time.took(took);
        let (level, message) = match status {
            500.. => {
                requests.failed_5xx.add(1);
                ("ERROR", "failed")
            }
            400.. => {
                requests.refused_4xx.add(1);
                requests.rate_limited.add(usize::from(status == 429));
                ("INFO", "refused")
            }
            _ => ("INFO", "answered"),
        };
        let mut counted = vec![Counted::of(self.function, &requests)];
        let (mut workspace, mut key) = caller.map(|caller| (caller.workspace, caller.key)).unzip();
        if let Some(ApiError::Forbidden(denied)) = failure {
            (workspace, key) = (workspace.or(request.workspace()), key.or(denied.key));
            denials.forbidden.add(1);
            counted.push(Counted::of(denied.reason, &denials));
        }
        let mut fields = Fields::default();
        fields.add("requestId", request.id());
        fields.add_known("traceId", request.trace_id());
        fields.add_known("workspace", workspace.map(|workspace| workspace.to_string()));
        fields.add_known("key", key.map(|key| key.to_string()));
        fields.add("route", request.route());
        fields.add("status", status);
        fields.add_known("code", failure.map(|failure| failure.code().code));
        fields.add_known("cause", failure.filter(|_| status >= 500).map(|failure| error_chain(failure)));
        self.metrics.log(counted, level, message, fields);
    }
}

impl Call<'_> {
    /// The workspace of the caller's key.
    pub fn workspace(&self) -> WorkspaceId {
        self.caller.workspace()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.api.store
    }

    /// Refuses a request that has query parameters, if it takes none and nothing else of it can be wrong.
    pub fn without_query(&self) -> Result<(), ApiError> {
        let mut form = Form::default();
        self.request.query().only(&mut form, &[]);
        form.finish(Some(()))
    }

    /// The caller, as entries of the audit log name it.
    pub fn author(&self) -> Author {
        Author { actor: self.caller.api_key().actor(), request_id: Some(self.request.id().to_owned()) }
    }

    /// An id for a write of this request. The store recognises a repeated write by it, and it contains the
    /// request's id.
    pub fn write_id(&self) -> String {
        self.store().write_id(self.request.id())
    }

    /// Repeats a read and write until the write succeeds. `once` returns `None` if another writer was faster.
    /// The repeats end after two thirds of the request's time, so the last one can finish.
    pub async fn until_written<T, F>(&self, once: impl Fn() -> F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<Option<T>, ApiError>>,
    {
        let mut patience = RetryTime::limited_to(self.store(), self.api.longest * 2 / 3);
        loop {
            if let Some(written) = once().await? {
                return Ok(written);
            }
            patience.wait().await?;
        }
    }

    /// The request's `Idempotency-Key` for this route, if there is one. An invalid key becomes a failure of
    /// the form.
    pub fn idempotency_key(&self, form: &mut Form, route: &'static str) -> Option<IdempotencyKey> {
        idempotency::read(self.request, form, route)
    }

    /// The cursors of one list in the caller's workspace. The list is identified by the endpoint's name and
    /// its filters.
    pub fn cursors(&self, endpoint: &str, filters: &[(&str, Option<&str>)]) -> Cursors<'_> {
        Cursors { call: self, bounds: Bounds::new(self.workspace(), endpoint, filters) }
    }
}

/// Opens and seals the cursors of one list.
pub struct Cursors<'a> {
    call: &'a Call<'a>,
    bounds: Bounds,
}

impl Cursors<'_> {
    /// The position in the `cursor` parameter; `None` for the first page. A cursor of another list becomes a
    /// failure of the form.
    pub async fn open(&self, form: &mut Form) -> Result<Option<String>, ApiError> {
        let query = self.call.request.query();
        if query.sent("cursor").is_none() {
            return Ok(None);
        }
        self.open_at(form, &query.field("cursor")).await
    }

    /// The same for a cursor at another place of the request, which is given.
    pub async fn open_at(&self, form: &mut Form, at: &Node<'_>) -> Result<Option<String>, ApiError> {
        let keys = self.keys().await?;
        let reason = "the cursor does not belong to this list with these filters";
        let opened = |cursor: &str| cursor::open(&keys, &self.bounds, cursor).ok_or(Unfit::Value { reason });
        Ok(at.text(form, opened))
    }

    /// Loads the key, so that sealing after a page needs no round trip. Run it in parallel with the page's
    /// read.
    pub async fn warm(&self) -> Result<(), ApiError> {
        self.keys().await.map(drop)
    }

    /// The cursor of the page that begins after this position; `None` after the last page.
    pub async fn next(&self, position: Option<&str>) -> Result<Option<String>, ApiError> {
        match position {
            Some(position) => self.seal(position).await.map(Some),
            None => Ok(None),
        }
    }

    /// The cursor of the page that begins after this position.
    pub async fn seal(&self, position: &str) -> Result<String, ApiError> {
        cursor::seal(&*self.keys().await?, self.call.store().ids(), &self.bounds, position)
            .ok_or_else(|| ApiError::unexpected("a cursor could not be sealed"))
    }

    async fn keys(&self) -> Result<impl Deref<Target = CursorKeys>, ApiError> {
        Ok(self.call.store().cursor_keys().await?)
    }
}
