//! The protocol of the lanes as a model, small enough that a checker tries every order of its steps.
//!
//! # The protocol
//!
//! What waits is scheduled by the place it goes to: a **lane**. Its row says who visits it (`lease`), when somebody must
//! look at the latest (`dueAt`), and how often work was told of (`mark`). See [`lane`].
//!
//! - Who has work puts it, then **tells** the lane: `mark` + 1, and `dueAt` soon, if there is none or it is far ahead.
//! - A message, or the sweeper by `dueAt`, brings a **visitor**. It takes the lease, sees the mark, looks for work, does
//!   it, and looks again, until it finds nothing.
//! - It **releases** the lane: *done* (`dueAt` goes) and *waits* (`dueAt` is when the next work comes) only if the mark is
//!   as it saw it before its last look, else it looks again; *closed* and *time is up* in any case, as duty stays.
//! - A lease outlasts the visit, so whoever is dead writes nothing. A lease leaves `dueAt` alone, so a death costs time only.
//!
//! A **webhook lane** ([`webhooks`]) finds its work by two watermarks. Home rows before `base` were handled, pointers up
//! to `waited` were. Rows may come late, with keys before `base`: a tell says the least key in `low`, the next lease takes
//! it in as `base`.
//!
//! - A relay puts the home rows, then the event, then tells. An event that stands vouches for its home rows.
//! - A tell is one of two conditional writes: `low = key` if there is no `low` or a larger one, else only if `low <= key`
//!   still. Refused by both it begins again, as a release between the two may have removed `low`.
//! - A lease is one of two: `low` is removed if it is no less than `base`, else it becomes `base`.
//! - A row that failed waits: its pointer is put, **then** its home row is overwritten, so that there is no home row
//!   without its pointer, whenever a visitor dies. A pointer is put behind `waited`, and counts only if the home row waits
//!   for its very moment.
//! - `lastWait` says whether pointers wait at all. A visitor whose predecessor died asks the table instead.
//! - A job is a row, told of like work. A visitor carries it out after all else: a page, its record, the job's position.
//!   A row notes which job attempted it; no clocks are compared.
//!
//! A **conversation's lane** ([`conversation`]) is strict: one message at a time in the order of their numbers, a call
//! recorded before and after it is made, an unknown end never tried again.
//!
//! # The model
//!
//! [`rules`] names each rule, and lets it be taken out. [`properties`] says what must hold. [`check`] runs the checker and
//! looks for cycles: histories without end. `tests/` holds that nothing goes wrong within bounds, and that something does
//! without each of the rules.
//!
//! What the model leaves out, and why it may:
//!
//! - *Moments.* Time goes on by ticks, and only where somebody waits for the next one. The sweeper comes when no message
//!   is on its way, so its two minutes are no tick. Messages held back are left to it.
//! - *Half a look.* A visitor reads pointers, rows, events and endpoint in one step; what comes meanwhile comes after. Pages
//!   of one row stand for a query that reads row by row.
//! - *Who read what when*, if nobody could tell: see `settled` of both states.
//!
//! What it takes for granted: a lease outlasts its visit, writes under way included; two runs of one stream record never
//! overlap (`tests/webhooks.rs` shows what would follow); an operator's command that died is given again.

pub mod check;
pub mod conversation;
pub mod lane;
pub mod properties;
pub mod rules;
pub mod webhooks;
