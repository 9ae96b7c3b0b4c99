//! Paths in the checkout and in the state folder of this run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Problem;

/// The folders of this run. All runs in a checkout share its virtual environment and its packed functions. Everything
/// else is in the run's own state folder.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    root: PathBuf,
    state: PathBuf,
    binaries: PathBuf,
}

impl Checkout {
    /// Finds the checkout that this program was built from. A relative `state` is relative to the checkout.
    pub(crate) fn find(state: &Path) -> Result<Self, Problem> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().map_err(|error| {
            Problem::of("The checkout from which this program was built no longer exists", error)
        })?;
        let binaries = std::env::current_exe()
            .ok()
            .and_then(|program| Some(program.parent()?.to_path_buf()))
            .ok_or_else(|| Problem::new("This program cannot find its own checkout."))?;
        let state = root.join(state);
        let checkout = Self { root, state, binaries };
        checkout.make("")?;
        checkout.make("logs")?;
        Ok(checkout)
    }

    /// The path of a committed file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file of this run.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    pub(crate) fn state_text(&self) -> String {
        self.state.display().to_string()
    }

    pub(crate) fn path_text(&self, name: &str) -> String {
        self.state(name).display().to_string()
    }

    /// The path of a file that all runs in this checkout share.
    pub(crate) fn shared(&self, name: &str) -> PathBuf {
        self.root.join(".local").join(name)
    }

    /// The folder in which cargo put this program and all others.
    pub(crate) fn binaries(&self) -> &Path {
        &self.binaries
    }

    pub(crate) fn venv(&self, program: &str) -> PathBuf {
        self.shared("venv").join("bin").join(program)
    }

    pub(crate) fn make(&self, folder: &str) -> Result<PathBuf, Problem> {
        let path = self.state(folder);
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, error))?;
        Ok(path)
    }

    /// Writes a file of this run atomically, so that a reader never sees half of it.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<(), Problem> {
        let path = self.state(name);
        let unfinished = self.state(&format!("{name}.new"));
        fs::write(&unfinished, content)
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(|error| cannot_write(&path, error))
    }

    /// Removes a file of this run, if it exists.
    pub(crate) fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.state(name));
    }
}

pub(crate) fn cannot_write(path: &Path, error: io::Error) -> Problem {
    Problem::of(&format!("{} cannot be written", path.display()), error)
}
