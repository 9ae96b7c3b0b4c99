//! The row of a bucket as the table keeps it, and what any number of processes may do to it.

use proptest::prelude::*;

use super::*;

/// The greatest number of writes for one request.
const MAX_WRITES: usize = 3;

/// The row of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) tat: i64,
    pub(super) writes: usize,
}

impl Default for Row {
    fn default() -> Self {
        Self { tat: i64::MIN / 2, writes: 0 }
    }
}

impl Row {
    /// The theoretical arrival time after the write; before it, if the write is refused.
    pub(super) fn write(&mut self, draw: Draw) -> Result<i64, i64> {
        self.writes += 1;
        let fits = match draw.form {
            Form::Idle => self.tat < draw.earliest,
            Form::Hot => draw.earliest <= self.tat && self.tat <= draw.latest,
        };
        if !fits {
            return Err(self.tat);
        }
        self.tat = self.tat.max(draw.earliest) + draw.taken;
        Ok(self.tat)
    }
}

/// One request, whose writes return at once.
pub(super) fn ask(bucket: &mut Bucket, row: &mut Row, gcra: Gcra, now: i64) -> Step {
    let step = bucket.ask(gcra, now);
    answer(bucket, row, gcra, now, step)
}

/// The last step of a request after this one. Its writes return at once.
pub(super) fn answer(bucket: &mut Bucket, row: &mut Row, gcra: Gcra, now: i64, mut step: Step) -> Step {
    for _ in 0..MAX_WRITES {
        let Step::Write(draw) = step else { break };
        step = match row.write(draw) {
            Ok(tat) => bucket.drawn(gcra, now, draw, tat),
            Err(tat) => bucket.refused(gcra, now, draw, tat),
        };
    }
    assert!(!matches!(step, Step::Write(_)));
    step
}

/// Whether the algorithm without leases admits all of these requests. It does if, and only if, no span of time has more
/// of them than `per_second` times the span plus `burst`.
pub(super) fn conforms(gcra: Gcra, mut moments: Vec<i64>) -> Result<(), String> {
    moments.sort_unstable();
    let mut tat = i64::MIN / 2;
    for (number, now) in moments.into_iter().enumerate() {
        if tat > now + gcra.tolerance {
            return Err(format!("request {number} at {now} is {} early", tat - gcra.tolerance - now));
        }
        tat = tat.max(now) + gcra.interval;
    }
    Ok(())
}

/// What happens next. The numbers choose among what is there.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Time passes, in thousandths of the limit's interval.
    Pass(i64),
    /// A process gets some requests at the same moment.
    Ask(usize, usize),
    /// A process gets requests for two seconds, at so many hundredths of the rate. All writes arrive.
    Load(usize, i64),
    /// All processes get requests at the same moment, more than the limit permits. All writes arrive.
    Flood,
    /// A write of a request reaches the row, and its answer arrives.
    Answer(usize),
    /// A write reaches the row, and the process does not learn it.
    LoseAnswer(usize),
    /// A write is lost.
    LoseWrite(usize),
    /// A process ends, and a new one begins.
    Restart(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let number = || 0_usize..1_000;
    prop_oneof![
        16 => (0_i64..2_500).prop_map(Event::Pass),
        1 => (2_500_i64..60_000).prop_map(Event::Pass),
        24 => (number(), 1_usize..4).prop_map(|(process, requests)| Event::Ask(process, requests)),
        4 => (number(), 1_i64..120).prop_map(|(process, hundredths)| Event::Load(process, hundredths)),
        2 => Just(Event::Flood),
        32 => number().prop_map(Event::Answer),
        1 => number().prop_map(Event::LoseAnswer),
        1 => number().prop_map(Event::LoseWrite),
        1 => number().prop_map(Event::Restart),
    ]
}

/// A request: its process, when it began by the clock of the process and by the true one, and its writes so far.
#[derive(Clone, Copy)]
struct Request {
    process: usize,
    now: i64,
    truly: i64,
    writes: usize,
}

/// Processes with clocks that differ.
struct World {
    gcra: Gcra,
    row: Row,
    processes: Vec<(Bucket, i64)>,
    waiting: Vec<(Request, Draw)>,
    now: i64,
    admitted: Vec<i64>,
}

impl World {
    fn step(&mut self, event: Event) {
        match event {
            Event::Pass(thousandths) => self.now += thousandths * self.gcra.interval / 1_000,
            Event::Ask(process, requests) => {
                let process = process % self.processes.len();
                for _ in 0..requests {
                    let (bucket, ahead) = &mut self.processes[process];
                    let (now, truly) = (self.now + *ahead, self.now);
                    let step = bucket.ask(self.gcra, now);
                    self.goes_on(Request { process, now, truly, writes: 0 }, step);
                }
            }
            Event::Load(process, hundredths) => {
                let gap = self.gcra.interval * 100 / hundredths;
                for _ in 0..2 * SECOND / gap {
                    self.now += gap;
                    self.request(process % self.processes.len());
                }
            }
            Event::Flood => {
                for process in 0..self.processes.len() {
                    while self.request(process) == Step::Admit {}
                }
            }
            Event::Answer(number) => {
                let Some((mut request, draw)) = self.next(number) else { return };
                let (bucket, now) = (&mut self.processes[request.process].0, request.now);
                let step = match self.row.write(draw) {
                    Ok(tat) => bucket.drawn(self.gcra, now, draw, tat),
                    Err(tat) => bucket.refused(self.gcra, now, draw, tat),
                };
                request.writes += 1;
                self.goes_on(request, step);
            }
            Event::LoseAnswer(number) => {
                if let Some((_, draw)) = self.next(number) {
                    let _ = self.row.write(draw);
                }
            }
            Event::LoseWrite(number) => drop(self.next(number)),
            Event::Restart(process) => {
                let process = process % self.processes.len();
                self.waiting.retain(|(request, _)| request.process != process);
                self.processes[process].0 = Bucket::default();
            }
        }
    }

    /// A request whose writes arrive at once.
    fn request(&mut self, process: usize) -> Step {
        let (bucket, ahead) = &mut self.processes[process];
        let step = ask(bucket, &mut self.row, self.gcra, self.now + *ahead);
        if step == Step::Admit {
            self.admitted.push(self.now);
        }
        step
    }

    fn goes_on(&mut self, request: Request, step: Step) {
        match step {
            Step::Admit => self.admitted.push(request.truly),
            Step::Refuse { .. } => {}
            Step::Write(draw) => self.waiting.push((request, draw)),
        }
        assert!(request.writes < MAX_WRITES || !matches!(step, Step::Write(_)));
        assert!(self.held_by(request.process) < self.gcra.most);
    }

    /// How many requests the process can admit without a write.
    fn held_by(&self, process: usize) -> i64 {
        let (mut bucket, ahead) = self.processes[process];
        (0..100).take_while(|_| bucket.ask(self.gcra, self.now + ahead) == Step::Admit).count() as i64
    }

    fn next(&mut self, number: usize) -> Option<(Request, Draw)> {
        (!self.waiting.is_empty()).then(|| self.waiting.swap_remove(number % self.waiting.len()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_span_of_time_has_more_requests_than_rate_times_the_span_plus_burst(
        per_second in 1_u32..=500, burst in prop_oneof![1_u32..8, 8_u32..600],
        ahead in prop_oneof![Just(vec![0; 3]), prop::collection::vec(-2_000_000_i64..=2_000_000, 1..6)],
        events in prop::collection::vec(event(), 1..300),
    ) {
        let gcra = gcra(per_second, burst);
        let apart = ahead.iter().max().unwrap() - ahead.iter().min().unwrap();
        let mut world = World {
            gcra,
            row: Row::default(),
            processes: ahead.into_iter().map(|ahead| (Bucket::default(), ahead)).collect(),
            waiting: vec![],
            now: 1_767_323_045_678_000,
            admitted: vec![],
        };
        for event in events {
            world.step(event);
        }
        // Clocks that differ by some time can add what the bucket gains in that time.
        let judge = Gcra { tolerance: gcra.tolerance + apart, ..gcra };
        prop_assert_eq!(conforms(judge, world.admitted), Ok(()));
    }
}
