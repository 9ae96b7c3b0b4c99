//! What the delivery engine costs and how it keeps receivers apart (`make bench`): the function `webhook-delivery` as it is
//! shipped, fed with batches, posting 2 KiB with both signatures over TLS.
//!
//! `deliveries [speed|isolation]` measures only one of the two.

#![allow(clippy::print_stdout, clippy::print_stderr)] // tables and progress are all it has to say
#![allow(clippy::unwrap_used)] // a measurement that cannot go on ends

mod canned;
mod isolation;
mod scene;
mod speed;

use bench::Core;

use crate::isolation::Coming;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    Core::MEASURING.pin();
    let wanted = std::env::args().nth(1);
    let wants = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if wants("speed") {
        println!("{}", speed::table().await);
    }
    if wants("isolation") {
        println!("{}", isolation::table(Coming::AtOnce).await);
        println!("{}", isolation::table(Coming::Paced).await);
    }
}
