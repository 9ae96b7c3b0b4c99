//! This crate has only tests: of the whole stack (`tests/whole`) and of the dependencies between packages
//! (`tests/layers.rs`).
