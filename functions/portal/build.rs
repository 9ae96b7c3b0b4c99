//! Renders the API reference, so that the function starts with a finished page, and writes the policy of the portal.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const DOCUMENT: &str = "pages/index.html";

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let page = reference::page(Some(&reference::Deployed::to_come()));
    fs::write(Path::new(&out).join("reference.html"), page)?;
    fs::write(Path::new(&out).join("policy.txt"), policy(&fs::read_to_string(DOCUMENT)?)?)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={DOCUMENT}");
    Ok(())
}

/// The document runs no script and no style but its own two. It loads nothing, and calls its own host only. Its script can write no
/// markup into the page. Which pages may show it in a frame, each deployment says.
fn policy(document: &str) -> Result<String, Box<dyn Error>> {
    let script = digest(document, "<script>", "</script>")?;
    let style = digest(document, "<style>", "</style>")?;
    Ok(format!(
        "default-src 'none'; script-src {script}; style-src {style}; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ))
}

/// The source expression for the only element between these tags.
fn digest(document: &str, begin: &str, end: &str) -> Result<String, Box<dyn Error>> {
    let mut parts = document.split(begin);
    let (Some(_), Some(rest), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("{DOCUMENT} has not exactly one {begin}").into());
    };
    let (content, _) = rest.split_once(end).ok_or_else(|| format!("{DOCUMENT} has no {end}"))?;
    Ok(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes()))))
}
