//! The tools of `make bench`. The measured functions are processes of their own, pinned to one core. The measuring
//! process runs on another core and contains stand-ins for Lambda, for AWS and for receivers of webhooks.

mod aws;
mod lambda;
mod process;
mod serve;
mod table;
mod traffic;
pub mod webhooks;

pub use aws::{Aws, Database, Queued};
pub use lambda::{Invocation, Lambda};
pub use process::{Build, Core, Function, binary, environment, loaded_size, scratch};
pub use serve::{Answer, Authority, Incoming, Server};
pub use table::{Cost, Table};
pub use traffic::Traffic;
