//! The whole stack: the real template in the emulator, real binaries, real HTTPS, driven from outside.
//!
//! Each test starts a stack of its own on free ports in a folder of its own, and all of it ends with the test.

mod deliveries;
mod files;
mod isolation;
mod leads;
mod redrive;
mod rotation;
mod sending;
mod stack;
mod surface;
