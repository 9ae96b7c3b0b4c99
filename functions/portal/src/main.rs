//! The `portal` function: reads settings once, then handles requests.

use lambda_http::Error;
use portal::{FrameAncestors, Portal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let portal = &Portal {
        capture_url: process.settings.required("CAPTURE_URL")?,
        frame_ancestors: process.settings.read_with("FRAME_ANCESTORS", FrameAncestors::parse)?,
    };
    edge::serve(|request| async move { portal.handle(&request) }).await
}
