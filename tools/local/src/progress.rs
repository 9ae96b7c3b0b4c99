//! What a person sees while the stack starts: one line a step, on standard error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The steps of one run.
pub(crate) struct Progress {
    begun: Instant,
}

/// A step that is under way. On a terminal its line turns until the step is done.
pub(crate) struct Step {
    name: &'static str,
    begun: Instant,
    spinner: ProgressBar,
}

impl Progress {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    pub(crate) fn step(&self, name: &'static str) -> Step {
        if !std::io::stderr().is_terminal() {
            return self.talkative_step(name);
        }
        let spinner = ProgressBar::new_spinner().with_style(style()).with_message(name);
        spinner.enable_steady_tick(Duration::from_millis(100));
        Step { name, begun: Instant::now(), spinner }
    }

    /// A step whose program shows its own progress.
    pub(crate) fn talkative_step(&self, name: &'static str) -> Step {
        Self::say(&format!("... {name}"));
        Step { name, begun: Instant::now(), spinner: ProgressBar::hidden() }
    }

    pub(crate) fn finished(&self) {
        Self::say(&format!("    Ready after {:.1} s\n", self.begun.elapsed().as_secs_f64()));
    }

    /// Anything said here is for people; if nobody listens any more, so be it.
    pub(crate) fn say(line: &str) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

impl Step {
    /// What the step is at, for as long as nothing newer is noted; only a terminal shows it.
    pub(crate) fn note(&self, detail: &str) {
        self.spinner.set_message(format!("{}: {detail}", self.name));
    }

    pub(crate) fn done(self) {
        self.spinner.finish_and_clear();
        Progress::say(&format!("ok  {} ({:.1} s)", self.name, self.begun.elapsed().as_secs_f64()));
    }
}

fn style() -> ProgressStyle {
    // The template is a constant: were it wrong, the default would do.
    ProgressStyle::with_template("{spinner}   {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}
