//! The rules of the protocol, one by one. Each can be taken out, to see what it is good for: `tests/` holds that the
//! checker then finds a history in which something goes wrong, or that the rule only saves work.

/// The rules, and a list of them all.
macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A rule of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Rule] = &[$(Rule::$name,)+];
        }
    };
}

rules! {
    // Every lane.
    /// A visitor takes a lane only while no lease runs. Without: always.
    OneLease,
    /// A lease lasts longer than the visit. Without: it may run out under a visitor that lives.
    LeaseOutlivesVisit,
    /// A lease leaves `dueAt` where it is. Without: it removes it.
    LeaseKeepsDue,
    /// A tell sets `dueAt` where there is none. Without: it only counts the mark.
    TellSetsDue,
    /// A tell brings a `dueAt` forward that is far ahead. Without: a lane that waits for a retry in hours keeps it.
    TellHastensDue,
    /// A release that ends the duty needs the mark as the visitor saw it. Without: it needs the lease only.
    DoneNeedsMark,
    /// A release that waits for its next work needs the mark as the visitor saw it. Without: it needs the lease only.
    WaitsNeedsMark,
    /// The mark that a release asks for was read before the last look. Without: the visitor reads it again at the end.
    MarkBeforeLook,
    /// A visitor out of time leaves the lane due. Without: it leaves only a message.
    TimeUpKeepsDue,
    /// A closed lane is due when it opens. Without: nobody is told of that moment.
    ClosedKeepsDue,
    /// The sweeper queues what is due. Without: there is no sweeper.
    SweeperLooks,
    /// The sweeper passes over a lane whose lease runs. Without: it queues it.
    ClaimPassesLeased,
    /// A release needs the lease to be the visitor's own. Without: it needs the mark only.
    ReleaseNeedsLease,

    // Webhooks: putting work in.
    /// Work is told of after it was put. Without: before.
    TellAfterWork,
    /// An event is put after all its home rows, so that it vouches for them. Without: before.
    HomeBeforeEvent,
    /// A home row whose event stands is not put again. Without: it is, over whatever became of it.
    StandingIsNotPut,
    /// A repeated record tells its lanes again. Without: what stands is passed over.
    RepeatTells,
    /// A tell keeps the least key told of since the last lease (`low`). Without: it does not.
    TellSaysLow,
    /// A batch tells of its least key. Without: of its last.
    LowIsTheLeast,
    /// The tell's second form needs `low <= key` still; refused, the first form comes again. Without: it needs nothing.
    SecondFormNeedsLow,

    // Webhooks: watermarks.
    /// A lease takes in a `low` behind `base`. Without: it only removes it.
    LeaseTakesLow,
    /// The lease's form that takes `low` in needs `low < base` still. Without: it takes in whatever it finds.
    TakingLowNeedsLow,
    /// A visitor whose release is refused looks again from `low`. Without: from where it was.
    RefusedLooksFromLow,
    /// Only a release under the mark removes `low`. Without: each does.
    LowNeedsMark,
    /// A release that ends the duty removes `low`. Without: it stays, and the next lease takes it in.
    DoneRemovesLow,
    /// `base` stops at the first row that was not handled. Without: at the last one read.
    BaseStopsAtUnhandled,
    /// `waited` stops before the first pointer that was not handled. Without: at the last one read.
    WaitedStopsAtUnhandled,
    /// `waited` is a whole key. Without: a moment, and a page may end between two pointers of one moment.
    WaitedIsAKey,
    /// A pointer is put behind `waited`, whatever the clock says. Without: where the clock says.
    PointerBehindWaited,
    /// A page's pointers are put before its home rows. Without: in one unordered batch, and whoever meets a home row
    /// without its pointer puts it (`RepairPuts`).
    PointerBeforeHome,
    /// A visitor whose predecessor died does not trust `lastWait`. Without: it does.
    DeathDistrustsLastWait,

    // Webhooks: what a look makes of a row.
    /// A row that is not pending is passed over. Without: it is attempted.
    PassesHandled,
    /// A row of the fresh range that waits for its pointer is passed over. Without: it is attempted.
    PassesWaiting,
    /// A pointer counts only if its home row waits for that very moment. Without: always.
    PointerMatchesHome,
    /// A row is attempted only if its event is there. Without: with no body.
    NeedsEvent,
    /// A row whose event is not there yet is put off by a pointer. Without: it is passed over; its tell is to come.
    PutsOffEventless,
    /// After two deaths a visitor notes each attempt before it. Without: it goes on as ever.
    CarefulAfterDeaths,

    // Webhooks: endpoints and jobs.
    /// Each look reads the endpoint. Without: the first one does.
    LookReadsEndpoint,
    /// A visit to a disabled endpoint leaves `base` where it is. Without: behind what it read.
    ParkedKeepsBase,
    /// Enabling writes the endpoint, then tells. Without: tells, then writes it.
    EnableBeforeTell,
    /// A job is told of after it was put. Without: before.
    JobBeforeTell,
    /// `hasJobs` is removed under the mark only. Without: by each release.
    JobsNeedMark,
    /// A visitor whose release is refused looks at `hasJobs` as it now is. Without: as it was.
    RefusedTakesJobs,
    /// A job's position is saved after its page is recorded. Without: before.
    PageBeforePosition,
    /// A job's page is passed over where the job attempted it. Without: attempted again.
    JobPassesItsOwn,
    /// A row notes which job attempted it. Without: moments of job and attempt are compared.
    JobMarksRows,
    /// A cancelled job's position is not saved, which stops it. Without: it goes on.
    CancelStopsJob,

    // Conversations.
    /// A message, its entry and its tell are one transaction. Without: the tell comes after, if the writer lives.
    TellInTransaction,
    /// A visitor asks for entries up to the number it saw at its lease. Without: for all, some of which it may miss.
    EntriesUpToSeen,
    /// A message that waits stops those behind it. Without: they overtake.
    HeadStops,
    /// A call is recorded before it is made. Without: only after.
    BeginBeforeCall,
    /// A call is made only if its record was answered. Without: also if the answer was lost.
    BeginMustBeAnswered,
    /// A begin whose answer was lost is undone. Without: it is left to the next visitor.
    LostBeginIsUndone,
    /// The undoing changes the row in any case, so that a late begin is refused. Without: only if the begin is there.
    UndoingFences,
    /// A call with no recorded end is unknown, and not made again. Without: it is.
    UnknownIsNotRepeated,
}

/// The rules that hold: all but those taken out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    out: u64,
}

impl Rules {
    /// The protocol as it is.
    pub fn all() -> Self {
        Self::default()
    }

    /// The protocol without one more rule.
    pub fn without(self, rule: Rule) -> Self {
        Self { out: self.out | 1 << rule as u64 }
    }

    /// Whether a rule holds.
    pub fn has(self, rule: Rule) -> bool {
        self.out & 1 << rule as u64 == 0
    }
}
