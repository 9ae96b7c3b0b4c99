//! Generates a Rust table of the numbering plans in the crate `phonenumber`.
//!
//! The crate itself reads and checks all plans of the world at its first use. That takes a tenth of a second of a
//! whole processor. A function has only a part of a processor, and the visitor would wait.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

use phonenumber::metadata::{DATABASE, Descriptor, Metadata};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names the folder"))?;
    fs::write(Path::new(&folder).join("plans.rs"), table())
}

/// A slice of calling codes, each with its plans.
fn table() -> String {
    let mut table = String::from("&[\n");
    for code in 1..=999_u16 {
        let plans: String = DATABASE.by_code(&code).into_iter().flatten().map(plan).collect();
        if !plans.is_empty() {
            let _ = writeln!(table, "(\"{code}\", &[{plans}]),");
        }
    }
    table + "]\n"
}

fn plan(plan: &Metadata) -> String {
    let kinds = plan.descriptors();
    let given_out = [
        kinds.mobile(),
        kinds.fixed_line(),
        kinds.toll_free(),
        kinds.premium_rate(),
        kinds.shared_cost(),
        kinds.personal_number(),
        kinds.voip(),
        kinds.pager(),
        kinds.uan(),
        kinds.voicemail(),
    ];
    let given_out: String = given_out.into_iter().flatten().map(|kind| kind_of(kind) + ", ").collect();
    format!("Plan {{ all: {}, given_out: &[{given_out}] }}, ", kind_of(kinds.general()))
}

fn kind_of(kind: &Descriptor) -> String {
    let pattern: String = kind.national_number().as_str().split_whitespace().collect();
    format!("Kind {{ lengths: &{:?}, pattern: {pattern:?} }}", kind.possible_length())
}
