//! The README's table of codes is the code's table.

use edge::CODES;

#[test]
fn the_readme_lists_every_code_with_its_status_once_and_no_other() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("<!-- codes:").expect("the table's beginning is marked");
    let (table, _) = rest.split_once("<!-- /codes -->").expect("the table's end is marked");
    let mut listed: Vec<(String, String)> = table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("SERVICE_"))
        .map(|line| {
            let mut cells = line.split('|').map(|cell| cell.trim().to_owned()).skip(1);
            (cells.next().unwrap_or_default(), cells.next().unwrap_or_default())
        })
        .collect();
    let mut known: Vec<(String, String)> =
        CODES.iter().map(|row| (row.status.to_string(), row.code.to_owned())).collect();
    listed.sort();
    known.sort();
    assert_eq!(listed, known, "left: README.md, right: edge::CODES");
}
