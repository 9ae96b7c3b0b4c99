//! The options of a run.

use std::path::PathBuf;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// First of the seven ports, see [`crate::Ports`]. 0 selects free ports.
    pub base_port: u16,
    /// The folder of `stack.json`, the logs and all other files of this run.
    pub state_dir: PathBuf,
    /// Name of the CloudFormation stack.
    pub stack_name: String,
    /// Template parameters. They override the local stack's own.
    pub parameters: Vec<(String, String)>,
    /// Whether to provision the demo workspaces.
    pub demo: bool,
    /// Whether to build the functions and the console before the start.
    pub build: bool,
    /// Whether to hold all calls of AWS against AWS's rules.
    pub validate: bool,
}
