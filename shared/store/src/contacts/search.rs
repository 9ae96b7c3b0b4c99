//! The hits of a search: search rows of terms or of phone digits, each contact once.
//!
//! Terms are sorted in the partition of their first character, digits in the partition of their first three.
//! A row is a hit if no other row of the same query shows its contact (`domain::contact::search`). The
//! row itself contains what this decision needs: all terms of its contact, or the whole number.

use std::collections::VecDeque;

use domain::contact::search::{SearchQuery, phone_ranges, phone_shown_by, shows_by_term, terms};
use domain::{Contact, ContactId, WorkspaceId};
use futures::future::try_join_all;

use crate::dynamodb::item::{SK, check_schema, s, text};
use crate::dynamodb::paging::{Hit, Hits, not_a_position};
use crate::dynamodb::read::{Attributes, Query};
use crate::{Store, StoreError, Table, keys};

/// The maximum number of reads of a search, one after another. Then it returns what it has.
const ROUNDS: u32 = 4;
/// The maximum number of rows of a search.
const MAX_ROWS: usize = 2_000;
/// How many times as many rows each round reads as the previous one.
const GROWTH: usize = 4;

/// The letter of the phase of terms, and those of the ranges of digits, in their order.
const TERMS: char = 'T';
const DIGITS: [char; 3] = ['D', 'Z', 'Y'];

/// What a search needs of a row.
static FOUND_BY: Attributes = Attributes { expression: "sk, doc, ph, sv", names: &[] };

/// One range that a query reads. A phone fragment has two or three: numbers that begin with it, with or without
/// the country code, numbers that end with it, and those that end with another written form of it.
struct Phase {
    /// The first letter of positions in this partition.
    letter: char,
    pk: String,
    prefix: String,
    /// The last sort key that was read; empty if none was.
    after: String,
    /// Rows that were read and not yet examined: the sort key, and all terms or the number.
    rows: VecDeque<(String, String)>,
    /// All rows of the partition were read.
    is_over: bool,
}

impl Store {
    /// The first hits after a position. One round trip for each round.
    pub(crate) async fn search_hits(
        &self,
        workspace: WorkspaceId,
        query: &SearchQuery,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Hits<ContactId>, StoreError> {
        let mut phases = phases_after(phases(workspace, query), after)?;
        let mut hits = vec![];
        let (mut limit, mut left) = (2 * page_size + 8, MAX_ROWS);
        for round in 0..ROUNDS {
            // The first round reads all phases at the same time, because the first phase of a number seldom
            // fills the page.
            let in_turn = if round == 0 { phases.len() } else { 1 };
            let empty: Vec<&mut Phase> =
                phases.iter_mut().filter(|phase| phase.needs_read()).take(in_turn).collect();
            let share = limit.min(left / empty.len().max(1));
            if share == 0 {
                break;
            }
            left -= share * empty.len();
            try_join_all(empty.into_iter().map(|phase| self.read_phase(phase, query, share))).await?;
            take(&mut phases, query, page_size, &mut hits);
            if hits.len() > page_size || phases.is_empty() {
                break;
            }
            limit *= GROWTH;
        }
        Ok(Hits::of(hits, page_size, phases.front().map(Phase::position)))
    }

    /// Reads the next rows (strongly consistent): a contact is found as soon as the write that stored it was
    /// answered.
    async fn read_phase(
        &self,
        phase: &mut Phase,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<(), StoreError> {
        // `BETWEEN` includes both ends, so the last row of the previous read comes again and is skipped.
        let seen = usize::from(!phase.after.is_empty());
        let from = if phase.after.is_empty() { &phase.prefix } else { &phase.after };
        let mut ask = Query::of(Table::Contacts, &phase.pk)
            .between(from, format!("{}\u{10ffff}", phase.prefix))
            .only(Some(&FOUND_BY))
            .limit(limit + seen);
        if let SearchQuery::Words { others, .. } = query
            && !others.is_empty()
        {
            let all: Vec<String> = (0..others.len()).map(|at| format!("contains(doc, :w{at})")).collect();
            ask = ask.filter(all.join(" AND "));
            for (at, word) in others.iter().enumerate() {
                ask = ask.bind(format!(":w{at}"), s(format!("|{word}")));
            }
        }
        let page = self.query(ask).await?;
        for item in page.items {
            // The row's key contains the search term, which is personal data.
            check_schema(&item, "of a search")?;
            let held = if item.contains_key("ph") { "ph" } else { "doc" };
            let row = (text(&item, SK).to_owned(), text(&item, held).to_owned());
            if row.0 != phase.after {
                phase.rows.push_back(row);
            }
        }
        match page.next {
            // Rows after the last hit that the filter excluded need not be read again.
            Some(last) => phase.after = text(&last, SK).to_owned(),
            None => phase.is_over = true,
        }
        Ok(())
    }
}

/// The partitions that a query reads, in order.
fn phases(workspace: WorkspaceId, query: &SearchQuery) -> VecDeque<Phase> {
    let phase = |letter, pk, prefix: &str| Phase {
        letter,
        pk,
        prefix: prefix.to_owned(),
        after: String::new(),
        rows: VecDeque::new(),
        is_over: false,
    };
    match query {
        SearchQuery::Words { lead, .. } => [phase(TERMS, keys::contact_terms(workspace, lead), lead)].into(),
        SearchQuery::Phone(fragment) => {
            let ranges = DIGITS.into_iter().zip(phone_ranges(fragment));
            let of = |(letter, (end, digits)): (char, (_, String))| {
                phase(letter, keys::contact_digits(workspace, end, &digits), &digits)
            };
            ranges.map(of).collect()
        }
    }
}

/// The position after the row that shows this contact; `None` if the query does not find it.
pub(crate) fn position_of(query: &SearchQuery, contact: &Contact) -> Option<String> {
    let (letter, found_by) = match query {
        SearchQuery::Words { lead, .. } => {
            let terms = terms(contact);
            let all = || terms.iter().map(String::as_str);
            (TERMS, all().find(|term| shows_by_term(term, lead, all()))?.to_owned())
        }
        SearchQuery::Phone(fragment) => {
            let (range, row) = phone_shown_by(contact.cellphone.as_ref()?.digits(), fragment)?;
            (*DIGITS.get(range)?, row)
        }
    };
    Some(format!("{letter}{}", keys::search_sort_key(&found_by, contact.id)))
}

/// The phases that are left after a position.
fn phases_after(mut phases: VecDeque<Phase>, position: Option<&str>) -> Result<VecDeque<Phase>, StoreError> {
    let Some(position) = position else { return Ok(phases) };
    while let Some(phase) = phases.front_mut() {
        if let Some(after) = position.strip_prefix(phase.letter) {
            after.clone_into(&mut phase.after);
            return Ok(phases);
        }
        phases.pop_front();
    }
    Err(not_a_position())
}

/// Examines the rows that were read, phase after phase, until there is one more hit than the page takes.
/// Removes phases that are finished.
fn take(phases: &mut VecDeque<Phase>, query: &SearchQuery, page_size: usize, hits: &mut Vec<Hit<ContactId>>) {
    while let Some(phase) = phases.front_mut() {
        while let Some((sk, held)) = phase.rows.pop_front() {
            hits.extend(phase.hit(query, &sk, &held));
            if hits.len() > page_size {
                return;
            }
        }
        if !phase.is_over {
            return;
        }
        phases.pop_front();
    }
}

impl Phase {
    fn needs_read(&self) -> bool {
        self.rows.is_empty() && !self.is_over
    }

    /// The position after the last row that was read.
    fn position(&self) -> String {
        format!("{}{}", self.letter, self.after)
    }

    /// The contact of a row, if this row shows it.
    fn hit(&self, query: &SearchQuery, sk: &str, held: &str) -> Option<Hit<ContactId>> {
        let (found_by, contact) = keys::read_search_sort_key(sk)?;
        let shows = match query {
            SearchQuery::Words { lead, .. } => {
                shows_by_term(found_by, lead, held.split('|').filter(|term| !term.is_empty()))
            }
            SearchQuery::Phone(fragment) => phone_shown_by(held, fragment)
                .is_some_and(|(range, row)| DIGITS.get(range) == Some(&self.letter) && row == found_by),
        };
        shows.then(|| Hit { row: contact, position: format!("{}{sk}", self.letter) })
    }
}
