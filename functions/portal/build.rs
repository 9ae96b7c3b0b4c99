//! Renders the API reference, so that the function starts with a finished page.

use std::path::Path;
use std::{env, fs};

/// These texts stand in the page where the function puts the URLs of the deployment (`src/lib.rs`).
const API: &str = "https://integrations-api.invalid";
const CAPTURE: &str = "https://capture-api.invalid";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let deployed =
        reference::Deployed { api_url: API.to_owned(), capture_url: CAPTURE.to_owned(), ids: Vec::new() };
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("reference.html"), reference::page(Some(&deployed)))?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
