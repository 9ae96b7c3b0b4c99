//! Generates the documentation of webhooks from the code: the examples, tables and programs in
//! `docs/webhooks.md`, and the test vectors for the programs in `tests/receivers`.
//!
//! `WRITE_PAGES=1 cargo test --package edge --test it webhooks` writes the files. Without the variable, the
//! tests compare them.

mod events;
mod page;
mod vectors;
