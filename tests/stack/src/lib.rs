//! Nothing but tests: of the whole stack (`tests/whole`) and of who imports whom (`tests/floors.rs`).
