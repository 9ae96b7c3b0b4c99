//! Renders the API reference, so that the function starts with a finished page.

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = reference::page(Some(&reference::Deployed::to_come()));
    fs::write(Path::new(&env::var("OUT_DIR")?).join("reference.html"), page)?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
