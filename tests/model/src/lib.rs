//! Models of the lane protocol, of the jobs about persons ([`persons`]) and of leads that follow their message ([`leads`]), small enough for a
//! model checker to try every order of their steps.
//!
//! # The protocol
//!
//! Waiting work is scheduled by the place it goes to: a **lane**. Its row holds who visits it (`lease`), when somebody
//! must look at it at the latest (`dueAt`), and how many times it was notified of work (`mark`). See [`lane`].
//!
//! - A writer puts its work and then **notifies** the lane: it increments `mark`, and sets `dueAt` to soon if there is
//!   none or it is far ahead.
//! - A message, or the sweeper by `dueAt`, brings a **visitor**. The visitor takes the lease, reads the mark, looks for
//!   work, does it, and looks again until it finds nothing.
//! - The visitor **releases** the lane. *Done* removes `dueAt`. *Waits* sets `dueAt` to the time of the next work. Both
//!   require the mark that the visitor read before its last look; otherwise the visitor looks again. *Closed* and
//!   *TimeUp* need no mark, because the lane stays due.
//! - A lease outlasts the visit, so a dead visitor writes nothing. A lease does not change `dueAt`, so a death costs
//!   only time.
//!
//! A **webhook lane** ([`webhooks`]) finds its work by two watermarks. Home rows before `base` were handled, and
//! pointers up to `waited` were handled. Rows may arrive late, with keys before `base`: a notification stores its least key in
//! `low`, and the next lease moves `base` back to it.
//!
//! - A relay puts the home rows, then the event, and then notifies the lane. So an event that exists has all its home
//!   rows.
//! - A notification is one of two conditional writes. The first sets `low = key` if `low` is absent or larger. The second
//!   requires `low <= key`. If both are refused, the relay starts again with the first, because a release between the
//!   two may have removed `low`.
//! - A lease is one of two conditional writes: it removes a `low` that is not less than `base`, or it sets `base` to
//!   `low`. If its answer is lost, the repeat is refused and shows the lane. The visitor then begins at the lesser of
//!   `base` and `low`, because the lane may have been notified of work since.
//! - A failed delivery waits. The visitor puts a pointer and **then** overwrites the home row, so that no home row
//!   lacks its pointer, whenever a visitor dies. A pointer is put after `waited`. It counts only if the home row waits
//!   for the same moment.
//! - `lastWait` says whether any pointers wait. A visitor whose predecessor died reads this from the table instead.
//! - A job is a row, and the lane is notified of it like of other work. A visitor executes it after all other work: it
//!   posts a page, records it, and saves the job's position. A home row stores which job attempted it, so that no
//!   clocks are compared.
//!
//! A **conversation's lane** ([`conversation`]) is strict: it sends one message at a time in the order of their
//! numbers, records each call before and after it, and never retries a call of unknown outcome.
//!
//! # The model
//!
//! [`rules`] names each rule, and each rule can be removed. [`properties`] states what must hold. [`check`] runs the
//! checker and searches for cycles, which are endless histories. The tests in `tests/` show that all properties hold
//! within bounds, and that removing any rule breaks a property or wastes work.
//!
//! The model leaves out the following, for these reasons:
//!
//! - *Times.* The clock advances in ticks, and only if something waits for the next tick. The sweeper comes when no
//!   message is in flight, so its two minutes are not a tick. Delayed messages are left to the sweeper.
//! - *Partial reads.* A visitor reads pointers, rows, events and endpoint in one step; everything that arrives
//!   meanwhile arrives after the step. Pages of one row represent a query that reads row by row.
//! - *Differences that no step can observe*: see `settled` of both states.
//!
//! The model assumes that a lease outlasts its visit, including writes in flight; that two runs of one stream record
//! never overlap (`tests/it/webhooks.rs` shows what would follow); and that an operator repeats a command whose process
//! died.

pub mod check;
pub mod conversation;
pub mod lane;
pub mod leads;
pub mod persons;
pub mod properties;
pub mod rules;
pub mod webhooks;
