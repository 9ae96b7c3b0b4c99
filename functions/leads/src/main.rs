//! The `leads` function: reads settings and makes clients once, then handles requests.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use leads::captcha::Client;
use leads::{LONGEST, Leads, Quotas};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let store = process.store()?;
    let leads = Leads {
        quotas: Quotas::new(store.clone()),
        store,
        captcha: Client::new(&settings.required("CAPTCHA_URL")?, Client::TIME)?,
        first_due: process.first_due()?,
        longest: LONGEST,
        metrics: process.metrics(),
    };
    let handle = async |event: LambdaEvent<_>| Ok::<_, Error>(leads.handle(&event.payload).await);
    lambda_runtime::run(service_fn(handle)).await
}
