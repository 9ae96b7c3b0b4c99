//! Programs that the local stack starts, each in a process group with all the processes that it starts.

use std::io;
use std::process::{ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// The time limit for the group to disappear. Killed processes disappear within milliseconds, except those that no
/// parent reaps, for which a longer wait does not help.
const GRACE: Duration = Duration::from_millis(300);

/// A running program in its own process group. Dropping it kills the whole group, even if the first process has
/// ended, and waits until the group is gone. No process in the group outlives this one.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Option<Child>,
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// Starts the program. Its streams stay as `command` sets them.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child: Some(child), leader })
    }

    /// Runs the program to its end, without standard input, and returns its output.
    pub(crate) async fn output(command: &mut Command) -> io::Result<Output> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Self::spawn(command)?;
        match group.child.take() {
            Some(child) => child.wait_with_output().await,
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Runs the program to its end, without standard input.
    pub(crate) async fn status(command: &mut Command) -> io::Result<ExitStatus> {
        Self::spawn(command.stdin(Stdio::null()))?.wait().await
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.child {
            Some(child) => child.wait().await,
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let Some(leader) = self.leader else { return };
        let killed = Instant::now();
        // An error means that the group has no process left.
        while kill_process_group(leader, Signal::KILL).is_ok() && killed.elapsed() < GRACE {
            if let Some(child) = &mut self.child {
                let _ = child.try_wait();
            }
            if test_kill_process_group(leader).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;

    #[tokio::test]
    async fn dropping_a_group_ends_the_processes_that_its_program_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; exec sleep 600"]).stdout(Stdio::piped());
        let mut group = ProcessGroup::spawn(&mut command).unwrap();
        let printed = group.child().unwrap().stdout.take().unwrap();
        let grandchild = BufReader::new(printed).lines().next_line().await.unwrap().unwrap();
        let grandchild = Pid::from_raw(grandchild.parse().unwrap()).unwrap();
        assert!(rustix::process::test_kill_process(grandchild).is_ok());

        drop(group);
        assert!(!is_running(grandchild));
    }

    #[tokio::test]
    async fn a_background_process_ends_when_its_program_has_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 >/dev/null 2>&1 & echo $!"]);
        let output = ProcessGroup::output(&mut command).await.unwrap();
        let left: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert!(!is_running(Pid::from_raw(left).unwrap()));
    }

    /// A zombie (state Z) no longer runs.
    fn is_running(process: Pid) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        status.is_ok_and(|status| !status.contains(") Z "))
    }
}
