//! The rules of the protocol. Each can be removed, to show what it prevents: the tests in `tests/` show that the
//! checker then finds a history that violates a property, or that the rule only saves work.

/// Defines the rules and the list of all rules.
macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A rule of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Rule] = &[$(Rule::$name,)+];
        }
    };
}

rules! {
    // Rules of every lane.
    /// A visitor takes a lane only if no lease is in force. Without it, a visitor always takes the lane.
    OneLease,
    /// A lease lasts longer than the visit. Without it, the lease may expire while its visitor is alive.
    LeaseOutlivesVisit,
    /// A lease does not change `dueAt`. Without it, a lease removes `dueAt`.
    LeaseKeepsDue,
    /// A notification sets `dueAt` if there is none. Without it, a notification only increments the mark.
    TellSetsDue,
    /// A notification moves a far `dueAt` forward. Without it, a lane that waits hours for a retry keeps its `dueAt`.
    TellHastensDue,
    /// `Done` requires the mark that the visitor read. Without it, `Done` requires only the lease.
    DoneNeedsMark,
    /// `Waits` requires the mark that the visitor read. Without it, `Waits` requires only the lease.
    WaitsNeedsMark,
    /// A release requires the mark that was read before the last look. Without it, the visitor reads the mark again at
    /// the end.
    MarkBeforeLook,
    /// A visitor that runs out of time leaves the lane due. Without it, the visitor only queues a message.
    TimeUpKeepsDue,
    /// A closed lane is due when it opens. Without it, nothing looks at the lane at that time.
    ClosedKeepsDue,
    /// The sweeper queues lanes that are due. Without it, there is no sweeper.
    SweeperLooks,
    /// The sweeper skips a lane whose lease is in force. Without it, the sweeper queues that lane too.
    ClaimPassesLeased,
    /// A release requires that the lease is the visitor's own. Without it, a release requires only the mark.
    ReleaseNeedsLease,

    // Webhooks: adding work.
    /// A relay notifies the lane after it put the work. Without it, before.
    TellAfterWork,
    /// A relay puts an event after all its home rows, so that an event proves its home rows. Without it, before them.
    HomeBeforeEvent,
    /// A relay does not put a home row whose event exists. Without it, the relay overwrites the row.
    StandingIsNotPut,
    /// A repeated record notifies its lanes again. Without it, the relay skips a record whose events exist.
    RepeatTells,
    /// A notification stores in `low` the least key of the notifications since the last lease. Without it, a notification stores no key.
    TellSaysLow,
    /// A batch notifies the lane of its least key. Without it, its last key.
    LowIsTheLeast,
    /// The second form of a notification requires `low <= key`; if it is refused, the relay tries the first form again. Without
    /// it, the second form has no condition.
    SecondFormNeedsLow,

    // Webhooks: watermarks.
    /// A lease moves `base` back to a lower `low`. Without it, a lease only removes `low`.
    LeaseTakesLow,
    /// The form of the lease that moves `base` to `low` requires `low < base`. Without it, the form takes any `low`.
    TakingLowNeedsLow,
    /// A visitor whose lease was repeated, because its answer was lost, looks from `low`. Without it, from `base`.
    RepeatedLeaseLooksFromLow,
    /// A visitor whose release is refused looks again from `low`. Without it, from its own position.
    RefusedLooksFromLow,
    /// Only a release that requires the mark removes `low`. Without it, every release removes it.
    LowNeedsMark,
    /// `Done` removes `low`. Without it, `low` stays until the next lease.
    DoneRemovesLow,
    /// `base` stops at the first row that was not handled. Without it, at the last row that was read.
    BaseStopsAtUnhandled,
    /// `waited` stops before the first pointer that was not handled. Without it, at the last pointer that was read.
    WaitedStopsAtUnhandled,
    /// `waited` is a whole key. Without it, `waited` is a moment, and a page may end between two pointers of the same
    /// moment.
    WaitedIsAKey,
    /// A pointer is put after `waited`, whatever the clock shows. Without it, at the time of the clock.
    PointerBehindWaited,
    /// A page's pointers are put before its home rows. Without it, they are written in one unordered batch, and a
    /// visitor that reads a home row without its pointer puts the pointer (`Repair`).
    PointerBeforeHome,
    /// A visitor whose predecessor died does not trust `lastWait`. Without it, the visitor trusts it.
    DeathDistrustsLastWait,

    // Webhooks: how a look treats a row.
    /// A row that is not pending is skipped. Without it, the row is attempted.
    PassesHandled,
    /// A fresh row that waits for its pointer is skipped. Without it, the row is attempted.
    PassesWaiting,
    /// A pointer counts only if its home row waits for the same moment. Without it, every pointer counts.
    PointerMatchesHome,
    /// A row is attempted only if its event exists. Without it, the row is posted without a body.
    NeedsEvent,
    /// A row whose event does not exist yet is postponed by a pointer. Without it, the row is skipped, and its notification
    /// follows.
    PutsOffEventless,
    /// After two deaths, a visitor records each attempt before it starts. Without it, the visitor works as usual.
    CarefulAfterDeaths,

    // Webhooks: endpoints and jobs.
    /// Each look reads the endpoint. Without it, only the first look does.
    LookReadsEndpoint,
    /// A visit to a disabled endpoint does not move `base`. Without it, `base` moves past the rows that were read.
    ParkedKeepsBase,
    /// Enabling writes the endpoint and then notifies the lane. Without it, the other way round.
    EnableBeforeTell,
    /// An operator notifies the lane of a job after putting it. Without it, before.
    JobBeforeTell,
    /// `hasJobs` is removed only by a release that requires the mark. Without it, by every release.
    JobsNeedMark,
    /// A visitor whose release is refused reads `hasJobs` again. Without it, the visitor keeps its old value.
    RefusedTakesJobs,
    /// A job's position is saved after its page is recorded. Without it, before.
    PageBeforePosition,
    /// A job skips the rows that it attempted. Without it, the job attempts them again.
    JobPassesItsOwn,
    /// A row stores which job attempted it. Without it, the times of the job and of the attempt are compared.
    JobMarksRows,
    /// A cancelled job's position cannot be saved, which stops the job. Without it, the job goes on.
    CancelStopsJob,

    // Conversations.
    /// A message, its entry and its notification are one transaction. Without it, the notification follows later, if the writer is
    /// alive.
    TellInTransaction,
    /// A visitor reads entries up to the last number at its lease. Without it, it reads all, and may miss some of the
    /// newer ones.
    EntriesUpToSeen,
    /// A message that waits stops the messages behind it. Without it, they overtake it.
    HeadStops,
    /// A call is recorded before it is made. Without it, only after.
    BeginBeforeCall,
    /// A call is made only if its record was confirmed. Without it, also if the response to the record was lost.
    BeginMustBeAnswered,
    /// A begin whose response was lost is undone. Without it, the next visitor finds it.
    LostBeginIsUndone,
    /// The undo changes the row in any case, so that a late begin is refused. Without it, only if it finds the begin.
    UndoingFences,
    /// A call without a recorded end is unknown and is not repeated. Without it, the call is repeated.
    UnknownIsNotRepeated,
}

/// The rules in force: all except the removed ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    out: u64,
}

impl Rules {
    /// The whole protocol.
    pub fn all() -> Self {
        Self::default()
    }

    /// Removes one more rule.
    pub fn without(self, rule: Rule) -> Self {
        Self { out: self.out | 1 << rule as u64 }
    }

    /// Whether a rule is in force.
    pub fn has(self, rule: Rule) -> bool {
        self.out & 1 << rule as u64 == 0
    }
}
