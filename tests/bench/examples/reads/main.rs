//! Compares the cost of reads in small and large workspaces (`make bench`). It prints a table for each kind of read
//! with round trips and read units of the embedded database. It prints no times, because they would be those of the
//! emulator.

#![allow(clippy::print_stdout, clippy::print_stderr)] // the program prints tables and progress

mod lists;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{}", lists::of_conversations().await);
}
