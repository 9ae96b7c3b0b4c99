//! The key that seals cursors. There is one for the whole deployment, created with its first workspace.

use clap::Subcommand;
use serde::Serialize;

use crate::output::{Output, Shown};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a new key, at most once in 10 minutes. Cursors sealed with the previous key stay valid.
    Rotate,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        let Self::Rotate = self;
        let mut fresh = [0; 32];
        console.random.fill(&mut fresh);
        if !console.store.rotate_cursor_key(fresh).await? {
            return Err(Refusal::CursorKeyTooYoung);
        }
        output.one(&RotatedView { rotated: true })
    }
}

#[derive(Serialize)]
struct RotatedView {
    rotated: bool,
}

impl Shown for RotatedView {
    const HEADINGS: &'static [&'static str] = &["rotated"];

    fn cells(&self) -> Vec<String> {
        vec!["the new key opens cursors at once and seals them in five minutes".to_owned()]
    }
}
