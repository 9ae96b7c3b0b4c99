//! The progress that people see while the stack starts: one line per step, on standard error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of one run.
pub(crate) struct Progress {
    begun: Instant,
}

/// A step in progress. A terminal shows a spinner until the step is done.
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

    /// Prints a line for people. Failure to print is ignored.
    pub(crate) fn say(line: &str) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

impl Step {
    /// Shows the current detail of the step until the next note. Only a terminal shows it.
    pub(crate) fn note(&self, detail: &str) {
        self.spinner.set_message(format!("{}: {detail}", self.name));
    }

    pub(crate) fn done(self) {
        self.spinner.finish_and_clear();
        Progress::say(&format!("ok  {} ({:.1} s)", self.name, self.begun.elapsed().as_secs_f64()));
    }
}

fn style() -> ProgressStyle {
    // The template is a constant. If it were invalid, the default would be sufficient.
    ProgressStyle::with_template("{spinner}   {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}
