//! The key that seals cursors. There is one for the whole deployment, created with its first workspace.

use clap::Subcommand;

use crate::output::Output;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a new key, at most once in 10 minutes. Cursors sealed with the previous key stay valid.
    Rotate,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result {
        let Self::Rotate = self;
        let mut fresh = [0; 32];
        console.random.fill(&mut fresh);
        if !console.store.rotate_cursor_key(fresh).await? {
            return Err(Refusal::CursorKeyTooYoung);
        }
        let said = "the new key opens cursors at once and seals them in five minutes";
        output.one(View::new().json("rotated", true).cell("rotated", said))
    }
}
