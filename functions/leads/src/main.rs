//! The `leads` function: reads settings and makes clients once, then handles requests.

use std::time::Duration;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use leads::captcha::Client;
use leads::{LONGEST, Leads, Quotas};
use store::{Store, Tables};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let tables = Tables::of_stack(&process.stack);
    let store = Store::new(process.dynamodb(), tables, process.clock(), process.ids());
    let store = store.with_retention(process.retention()?);
    let leads = Leads {
        quotas: Quotas::new(store.clone()),
        store,
        captcha: Client::new(&settings.required("CAPTCHA_URL")?, Client::TIME)?,
        first_due: Duration::from_secs(settings.parsed("FIRST_DUE_SECONDS", 120)?),
        longest: LONGEST,
        metrics: process.metrics(),
    };
    let handle = async |event: LambdaEvent<_>| Ok::<_, Error>(leads.handle(&event.payload).await);
    lambda_runtime::run(service_fn(handle)).await
}
