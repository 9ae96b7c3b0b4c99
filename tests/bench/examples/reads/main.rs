//! What reads cost where there is little and where there is much (`make bench`): a table for each kind of read, of round
//! trips and of read units, against the embedded database. Times would be those of the emulator, and are not shown.

#![allow(clippy::print_stdout, clippy::print_stderr)] // tables and progress are all it has to say

mod lists;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{}", lists::of_conversations().await);
}
