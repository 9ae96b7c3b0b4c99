//! No function of the service or its tools is longer than a page. Tests may be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

/// From the line with `fn` to its last brace.
const MOST_LINES: usize = 70;

#[test]
fn no_function_has_more_than_seventy_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut long, mut count) = (vec![], 0);
    for folder in ["shared", "functions", "tools"] {
        read_all(&root.join(folder), &mut |file, code| {
            for (name, lines) in functions(code) {
                count += 1;
                if lines > MOST_LINES {
                    long.push(format!("{}: {name} has {lines} lines", file.display()));
                }
            }
        });
    }
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
    assert!(count > 2_000, "so few functions were found that the sources cannot have been read: {count}");
}

#[test]
fn the_lines_of_a_function_are_counted_from_its_name_to_its_last_brace() {
    let code = "impl A {\n    pub(crate) async fn f(\n        a: u8,\n    ) {\n        if a {\n        }\n    }\n}\n\
                trait B {\n    fn g(\n        self,\n    );\n    fn h(self);\n}\nconst fn i() {}\n\
                #[cfg(test)]\nmod tests {\n    fn j() {\n    }\n}\nfn k() {\n}\n";
    let found: Vec<(&str, usize)> = functions(code).collect();
    assert_eq!(found, [("f", 6), ("g", 3), ("h", 1), ("i", 1), ("k", 2)]);
}

/// The functions of a file, without its tests, with their numbers of lines. `rustfmt` wrote the code: the last line of a
/// function is the first one that ends it and begins in the same column.
fn functions(code: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(line) = lines.get(at) {
            let last = |first: usize| first + lines[first..].iter().position(|end| ends(line, end)).unwrap();
            let first = at;
            if *line == "#[cfg(test)]" {
                let item = lines[first + 1];
                at += 1 + lines[first + 1..].iter().position(|end| ends(item, end)).unwrap();
            } else if let Some(name) = name_of_function(line) {
                at += 1;
                return Some((name, last(first) + 1 - first));
            }
            at += 1;
        }
        None
    })
}

/// Whether `line` is the last one of the item that begins with the line `first`.
fn ends(first: &str, line: &str) -> bool {
    let column = first.len() - first.trim_start().len();
    line.len() - line.trim_start().len() == column && line.ends_with(['}', ';'])
}

fn name_of_function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_word =
        |word: &str| matches!(word, "pub" | "pub(crate)" | "pub(super)" | "const" | "async" | "unsafe");
    let name = rest.split(['(', '<']).next()?;
    before.split_whitespace().all(is_word).then_some(name)
}

fn read_all(folder: &Path, read: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.ends_with("tests") || path.ends_with("tests.rs");
        if path.is_dir() && !is_test {
            read_all(&path, read);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            read(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
