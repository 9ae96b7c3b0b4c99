//! Tests of the whole stack: the real template in the emulator, real binaries and real HTTPS, used from outside.
//!
//! Each test starts its own stack on free ports in its own folder. The stack ends with the test.

mod aws;
mod command_line;
mod deliveries;
mod erasure;
mod files;
mod isolation;
mod judgement;
mod leads;
mod listen;
mod provider;
mod redrive;
mod rotation;
mod sending;
mod stack;
mod surface;
mod two_way;
mod web_pages;
