//! The scripts for pages that send leads. The content of a name never changes, and each name stays served
//! (`docs/decisions/0049-the-capture-api-serves-its-script.md`).

/// A script by its file name.
pub const SCRIPTS: [(&str, &str); 2] = [
    ("lead-capture-1.js", include_str!("../scripts/lead-capture-1.js")),
    ("lead-capture-2.js", include_str!("../scripts/lead-capture-2.js")),
];

/// The content of a script.
pub fn named(name: &str) -> Option<&'static str> {
    SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, content)| *content)
}
