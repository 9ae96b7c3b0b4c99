//! The key that seals cursors. There is one for the whole deployment, created with its first workspace.

use clap::Subcommand;

use crate::output::{Output, Report};
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a new key, at most once in 10 minutes. Cursors sealed with the previous key stay valid.
    Rotate,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let Self::Rotate = self;
        if !console.store.rotate_cursor_key(console.entropy()).await? {
            return Err(Refusal::CursorKeyTooYoung);
        }
        let said = "the new key opens cursors at once and seals them in five minutes";
        Ok(View::new().json("rotated", true).cell("rotated", said).into())
    }
}
