//! The console's process, with the real terminal and the stack that the environment names.

use std::process::ExitCode;

use console::Terminal;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut terminal = Terminal::real();
    ExitCode::from(console::run(std::env::args_os(), console::to_stack, &mut terminal).await)
}
