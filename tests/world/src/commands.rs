//! Commands of the operator's console, as an operator types them.

use std::ffi::OsString;
use std::time::Duration;

use console::Terminal;
use harness::Pipe;
use serde_json::Value;

use crate::simulation::Simulation;
use crate::tenant::Tenant;

/// The codes of failures of AWS, and of a command that gave up.
const UNKNOWN: [&str; 5] = ["UNREACHABLE", "STACK", "MISSING_TABLE", "NO_QUEUE", "CONTENDED"];

/// How a command ended.
#[derive(Clone, Debug)]
pub(crate) enum Ran {
    /// It did what was asked, and printed this.
    Done(Value),
    /// It was refused for a reason of the service, with this code.
    Refused(String),
    /// It died, or a call failed: it may have had an effect.
    Unknown,
}

impl Simulation {
    /// Runs a command in a tenant's workspace.
    pub(crate) async fn command(&self, tenant: &Tenant, words: &[&str]) -> Ran {
        const LIMIT: Duration = Duration::from_secs(300);
        let (out, err) = (Pipe::default(), Pipe::default());
        let mut terminal = Terminal {
            input: Box::new(std::io::empty()),
            out: Box::new(out.clone()),
            err: Box::new(err.clone()),
            is_watched: false,
            has_person: false,
            has_colours: false,
            width: None,
        };
        let workspace = tenant.workspace.to_string();
        let line = ["console", "--json"].iter().chain(words).copied();
        let line = line.chain(["--workspace", &workspace]).map(OsString::from);
        let desk = self.machine().desk.clone();
        let who = self.who("console");
        self.trace.note(format_args!("{}: {}", who.name, words.join(" ")));
        let work = console::run(line, async |_| Ok(desk.console()), &mut terminal);
        let status = self.invoke_as(&who, LIMIT, work).await;
        let ran = match status {
            Some(0) => Ran::Done(json_of(&out)),
            Some(1) => {
                let failure = json_of(&err);
                let code = failure["code"].as_str().unwrap_or_default().to_owned();
                match UNKNOWN.contains(&code.as_str()) || who.troubles() > 0 {
                    true => Ran::Unknown,
                    false => Ran::Refused(code),
                }
            }
            Some(_) => panic!("not a command: {words:?}: {}", err.text()),
            None => Ran::Unknown,
        };
        self.trace.note(format_args!("{} is {ran:?}", who.name));
        ran
    }
}

/// What a command printed, as JSON.
fn json_of(pipe: &Pipe) -> Value {
    serde_json::from_str(&pipe.text()).unwrap_or_default()
}
