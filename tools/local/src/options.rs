//! What can be chosen about a run.

use std::path::PathBuf;

/// What can be chosen about a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// First of the seven ports, see [`crate::Ports`]; 0 takes free ones.
    pub base_port: u16,
    /// Where stack.json, logs and everything else about this run are kept.
    pub state_dir: PathBuf,
    /// Name of the CloudFormation stack.
    pub stack_name: String,
    /// Parameters of the template that win over the local stack's own.
    pub parameters: Vec<(String, String)>,
    /// Whether to provision the demo workspaces.
    pub demo: bool,
    /// Whether to build the functions and the console first.
    pub build: bool,
}
