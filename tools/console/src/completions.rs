//! `console completions ...`

use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::{Refusal, Result};

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(crate) fn write(self, mut command: clap::Command, output: &mut Output<'_>) -> Result {
        let shell = match self.shell {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        };
        let mut script = vec![];
        clap_complete::generate(shell, &mut command, "console", &mut script);
        Output::may_be_cut(output.raw().write_all(&script).map_err(Refusal::Output))
    }
}
