//! The `message-sender` function: settings and clients once, then batches until the environment ends.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    Ok(())
}
