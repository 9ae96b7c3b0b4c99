//! Cursors: only a cursor that the service sealed for this list opens, and it opens to what was sealed.

use domain::Scope;
use edge::form::Form;
use edge::{Api, ApiError, ApiRequest, Cursors, Reply};
use harness::{GatewayEvent, World};
use runtime::Metrics;
use runtime::metrics::ApiFunction;
use tokio::runtime::{Builder, Runtime};

/// The API over a workspace with a key of cursors.
struct Bench {
    runtime: Runtime,
    api: Api,
    event: GatewayEvent,
}

thread_local! {
    static BENCH: Bench = Bench::new();
}

/// The input is a forged cursor, or the byte 0, a place, a change of that byte, and a position to seal.
pub fn run(input: &[u8]) {
    BENCH.with(|bench| match input {
        [0, place, change, position @ ..] => {
            let Ok(position) = std::str::from_utf8(position) else { return };
            let sealed = bench.sealed(position);
            assert_eq!(bench.opened(&sealed, "contacts").as_deref(), Some(position));
            assert_eq!(bench.opened(&sealed, "conversations"), None, "a cursor of another list");
            let mut forged = sealed.clone().into_bytes();
            let place = usize::from(*place) % forged.len();
            forged[place] ^= change & 0x7f;
            let forged = String::from_utf8(forged).unwrap();
            let is_same = forged == sealed;
            assert_eq!(bench.opened(&forged, "contacts").is_some(), is_same, "{sealed} and {forged}");
        }
        _ => {
            if let Ok(forged) = std::str::from_utf8(input) {
                assert_eq!(bench.opened(forged, "contacts"), None, "{forged}");
            }
        }
    });
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (store, metrics, event) = runtime.block_on(async {
            let world = World::start().await;
            let metrics = Metrics::discarded(world.db.clock().clone());
            (world.db.frozen_store(), metrics, world.event("contacts-list.json"))
        });
        Self { runtime, api: Api::new(store, metrics, ApiFunction::Contacts), event }
    }

    fn sealed(&self, position: &str) -> String {
        let mut sealed = None;
        self.with(None, "contacts", async |cursors, _| sealed = cursors.seal(position).await.ok());
        sealed.unwrap()
    }

    fn opened(&self, cursor: &str, list: &'static str) -> Option<String> {
        let (mut opened, mut is_refused) = (None, false);
        self.with(Some(cursor), list, async |cursors, form| {
            opened = cursors.open(form).await.unwrap();
            is_refused = matches!(std::mem::take(form).finish(Some(())), Err(ApiError::Invalid(_)));
        });
        assert_eq!(opened.is_none(), is_refused, "a cursor that does not open is a failure of the form");
        opened
    }

    fn with(&self, cursor: Option<&str>, list: &'static str, work: impl AsyncFnOnce(Cursors<'_>, &mut Form)) {
        let query = cursor.map(|cursor| ("cursor", cursor));
        let event = self.event.clone().query(query.as_slice());
        let request = ApiRequest::new(event.request());
        let response = self.runtime.block_on(self.api.answer(&request, Scope::ContactsRead, async |call| {
            let mut form = Form::default();
            work(call.cursors(list, &[("status", Some("ACTIVE"))]), &mut form).await;
            Reply::list(&())
        }));
        assert_eq!(response.status(), 200);
    }
}
