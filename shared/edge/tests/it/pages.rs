//! The tables of `docs/errors.md` list the codes and the lead capture problems of the code.

use edge::CODES;
use edge::capture::PROBLEMS;

/// The status and the name in each row of the page's table between these marks, sorted.
fn listed(beginning: &str, end: &str, name: &str) -> Vec<(String, String)> {
    let page = include_str!("../../../../docs/errors.md");
    let (_, rest) = page.split_once(beginning).expect("the table's beginning is marked");
    let (table, _) = rest.split_once(end).expect("the table's end is marked");
    let mut listed: Vec<(String, String)> = table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(name))
        .map(|line| {
            let mut cells = line.split('|').map(|cell| cell.trim().to_owned()).skip(1);
            (cells.next().unwrap_or_default(), cells.next().unwrap_or_default())
        })
        .collect();
    listed.sort();
    listed
}

#[test]
fn the_page_lists_every_code_once_with_its_status() {
    let mut known: Vec<(String, String)> =
        CODES.iter().map(|row| (row.status.to_string(), row.code.to_owned())).collect();
    known.sort();
    let listed = listed("<!-- codes:", "<!-- /codes -->", "SERVICE_");
    assert_eq!(listed, known, "left: docs/errors.md, right: edge::CODES");
}

#[test]
fn the_page_lists_every_problem_of_lead_capture_once_with_its_status() {
    let mut known: Vec<(String, String)> =
        PROBLEMS.iter().map(|row| (row.status.to_string(), row.name.to_owned())).collect();
    known.sort();
    let listed = listed("<!-- problems -->", "<!-- /problems -->", "SERVICE.");
    assert_eq!(listed, known, "left: docs/errors.md, right: edge::capture::PROBLEMS");
}
