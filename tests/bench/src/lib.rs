//! What `make bench` measures with: functions as processes of their own, pinned to one core, between a stand-in for
//! Lambda, one for the services of AWS and one for receivers of webhooks, which all live in the measuring process on
//! another core.

mod aws;
mod lambda;
mod process;
mod serve;
mod table;
mod traffic;

pub use aws::{Aws, Database, Queued};
pub use lambda::{Invocation, Lambda};
pub use process::{Core, Function, binary, environment, scratch};
pub use serve::{Answer, Authority, Incoming, Server};
pub use table::{Cost, Table};
pub use traffic::Traffic;
