//! The local stack: what `make run` starts, and the simulators that whole-stack tests drive.
//!
//! Nothing here is ever shipped to AWS, and nothing here listens beyond the loopback interface.

pub mod simulator;
