//! Puts the git revision of the checkout into `console --version` of a release build.
//!
//! Other builds do without: each commit would compile the console again, and the packages of tests that link it.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("PROFILE").as_deref() != Ok("release") {
        println!("cargo::rustc-env=CONSOLE_REVISION=development");
        return;
    }
    // Each commit and each checkout appends to the log of HEAD. Without a log, the name in HEAD is watched.
    let logs = ["logs/HEAD", "HEAD"].into_iter().filter_map(|name| git(&["rev-parse", "--git-path", name]));
    if let Some(path) = logs.into_iter().find(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rustc-env=CONSOLE_REVISION={}", revision().as_deref().unwrap_or("unknown"));
}

/// The revision of the checkout that contains this package. `None` without git or outside a checkout, also if these
/// sources were unpacked into the checkout of another project.
fn revision() -> Option<String> {
    let here = git(&["rev-parse", "--show-prefix"])?;
    let is_ours = here == "tools/console/" && git(&["ls-files", "build.rs"])? == "build.rs";
    if is_ours { git(&["rev-parse", "--short=12", "HEAD"]) } else { None }
}

/// What git prints in the folder of this package, in which Cargo runs this program. `None` if git fails.
fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).output().ok().filter(|ran| ran.status.success())?;
    Some(String::from_utf8(ran.stdout).ok()?.trim().to_owned())
}
