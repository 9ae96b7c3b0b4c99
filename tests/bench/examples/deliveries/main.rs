//! Measures the cost of the delivery engine and the isolation of receivers (`make bench`). It feeds batches to the
//! release binary of `webhook-delivery`, which posts 2 KiB with both signatures over TLS.
//!
//! `deliveries [speed|isolation]` runs only one of the two measurements.

#![allow(clippy::print_stdout, clippy::print_stderr)] // the program prints tables and progress
#![allow(clippy::unwrap_used)] // a measurement that fails stops the program

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
