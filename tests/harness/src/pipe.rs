//! What a command prints or a function logs, in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An output in memory. Clones write to the same one.
#[derive(Clone, Default)]
pub struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    /// What was written so far. Panics if it is not UTF-8.
    pub fn text(&self) -> String {
        utf8(self.written().clone())
    }

    /// What was written since the last call. Panics if it is not UTF-8.
    pub fn take(&self) -> String {
        utf8(std::mem::take(&mut *self.written()))
    }

    fn written(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| panic!("{error}"))
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
