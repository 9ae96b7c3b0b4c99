/// Whether a run writes what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It writes.
    Record,
    /// It writes nothing, and says what it would write.
    DryRun,
}
