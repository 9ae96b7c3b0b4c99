use std::time::Duration;

use super::*;

mod lease;
mod load;
mod model;

use model::{Row, answer, ask};

fn gcra(per_second: u32, burst: u32) -> Gcra {
    Gcra::of(RateLimit { per_second, burst })
}

/// How many requests of one process at these times are admitted.
fn admitted(gcra: Gcra, moments: impl IntoIterator<Item = i64>) -> usize {
    let (mut row, mut bucket) = (Row::default(), Bucket::default());
    moments.into_iter().filter(|now| ask(&mut bucket, &mut row, gcra, *now) == Step::Admit).count()
}

#[test]
fn times_are_microseconds_since_1970() {
    assert_eq!(Gcra::micros(Timestamp::from_millis(1_500)), 1_500_000);
}

#[test]
fn a_full_bucket_admits_its_burst_at_once_and_then_its_rate() {
    assert_eq!(admitted(gcra(50, 100), [0; 500]), 100);
    assert_eq!(admitted(gcra(10, 1), [0; 5]), 1);
    // Ten seconds with one request each millisecond.
    let flood = || (0..10_000).map(|millis| millis * 1_000);
    assert_eq!(admitted(gcra(50, 100), flood()), 100 + 499);
    assert_eq!(admitted(gcra(10, 1), flood()), 100);
}

#[test]
fn a_bucket_says_how_much_is_left_and_when_it_is_full() {
    let gcra = gcra(10, 3);
    let (mut row, mut bucket) = (Row::default(), Bucket::default());
    let mut left = |now: i64, asks: bool| {
        if asks {
            ask(&mut bucket, &mut row, gcra, now);
        }
        let Left { tokens, full_in } = bucket.left(gcra, now);
        (tokens, full_in.as_millis())
    };
    const NOW: i64 = 1_000_000_000;
    assert_eq!(left(NOW, false), (3, 0), "a bucket that nobody has seen is full");
    assert_eq!([left(NOW, true), left(NOW, true), left(NOW, true)], [(2, 100), (1, 200), (0, 300)]);
    assert_eq!(left(NOW, true), (0, 300), "a refusal draws nothing");
    assert_eq!(left(NOW + 99_999, false), (0, 200));
    assert_eq!(left(NOW + 100_000, false), (1, 200));
    assert_eq!(left(NOW + 300_000, false), (3, 0));
}

#[test]
fn a_rate_that_does_not_divide_a_second_is_never_exceeded() {
    for per_second in 1..=500 {
        let interval = gcra(per_second, 1).interval;
        assert!(interval * i64::from(per_second) >= 1_000_000, "{per_second}");
        assert!((interval - 1) * i64::from(per_second) < 1_000_000, "{per_second}");
    }
}

#[test]
fn a_lease_has_at_most_a_twentieth_of_the_rate() {
    for (per_second, most) in [(1, 1), (10, 1), (20, 1), (21, 2), (50, 3), (100, 5), (500, 25)] {
        assert_eq!(gcra(per_second, 100).most, most, "{per_second}");
    }
}

/// What a process draws at the time 0: the theoretical arrival time when it last saw the bucket, and when that was; the
/// tokens that it used in the second before, and the number that it may draw. The draw is its form, its tokens, and its
/// head start.
#[test]
fn a_draw_has_as_many_tokens_as_the_process_uses_while_they_last() {
    use Form::{Hot, Idle};
    const MS: i64 = 1_000;
    // 50 a second, 100 at once: an interval of 20 ms, a tolerance of 1,980 ms, a head start of at most 495 ms.
    let rows = [
        // A quiet process draws one token.
        ((-9_000, -9_000), 0, 3, Some((Idle, 1, 0))),
        ((400, 0), 0, 3, Some((Hot, 1, 0))),
        // One that used a few in the second before draws the ones it will use in half a second.
        ((-400, -400), 1, 3, Some((Idle, 1, 0))),
        ((-400, -400), 2, 3, Some((Idle, 1, 0))),
        ((-400, -400), 3, 3, Some((Idle, 2, 495))),
        ((-400, -400), 5, 3, Some((Idle, 3, 495))),
        // The head start is twice the time in which the process uses the others.
        ((-400, -400), 10, 3, Some((Idle, 3, 400))),
        ((-400, -400), 50, 3, Some((Idle, 3, 80))),
        ((79, -60), 50, 3, Some((Idle, 3, 80))),
        ((80, -60), 50, 3, Some((Hot, 3, 80))),
        // A partly used bucket gives more time, half a second at most.
        ((499, 0), 2, 3, Some((Hot, 1, 0))),
        ((500, 0), 2, 3, Some((Hot, 2, 495))),
        ((1_500, 0), 2, 3, Some((Hot, 2, 495))),
        ((1_500, 0), 3, 3, Some((Hot, 2, 495))),
        ((1_500, 0), 4, 3, Some((Hot, 3, 495))),
        // No more than it may draw, and no more than the bucket held when it was last seen.
        ((500, 0), 50, 1, Some((Hot, 1, 0))),
        ((500, 0), 50, 2, Some((Hot, 2, 40))),
        ((1_940, 0), 50, 3, Some((Hot, 3, 80))),
        ((1_941, 0), 50, 3, Some((Hot, 2, 40))),
        ((1_960, 0), 50, 3, Some((Hot, 2, 40))),
        ((1_961, 0), 50, 3, Some((Hot, 1, 0))),
        ((1_800, -180), 50, 3, Some((Hot, 1, 0))),
        ((1_980, 0), 50, 3, Some((Hot, 1, 0))),
        ((1_981, 0), 50, 3, None),
    ];
    let gcra = gcra(50, 100);
    for ((tat, at), pace, most, expected) in rows {
        let draw = gcra.draw(Seen { tat: tat * MS, at: at * MS }, 0, pace, most);
        let seen = draw.map(|draw| (draw.form, draw.tokens, draw.earliest / MS));
        assert_eq!(seen, expected, "tat {tat} seen at {at}, {pace} used, {most} permitted");
        if let Some(draw) = draw {
            assert_eq!(draw.taken, draw.tokens * gcra.interval);
            assert_eq!(draw.latest, gcra.tolerance - (draw.tokens - 1) * gcra.interval);
        }
    }
}

#[test]
fn a_small_bucket_is_never_leased_beyond_what_it_holds() {
    for burst in 1..=40 {
        for (per_second, pace) in [(50, 50), (500, 500), (500, 40)] {
            let gcra = gcra(per_second, burst);
            for tat in (-10..=i64::from(burst)).map(|tokens| tokens * gcra.interval) {
                let Some(draw) = gcra.draw(Seen { tat, at: 0 }, 0, pace, gcra.most) else { continue };
                assert!(draw.tokens >= 1 && draw.tokens <= gcra.most.min(i64::from(burst)), "{draw:?}");
                assert!((0..=gcra.tolerance / 4).contains(&draw.earliest), "{draw:?}");
                assert!(Row { tat, ..Row::default() }.write(draw).is_ok(), "{burst} {tat}: {draw:?}");
            }
        }
    }
    assert_eq!(gcra(50, 1).draw(Seen { tat: 1, at: 0 }, 0, 50, 3), None);
}

#[test]
fn an_empty_bucket_returns_the_time_until_it_holds_one_request() {
    let gcra = gcra(10, 3);
    let (mut row, mut bucket) = (Row::default(), Bucket::default());
    let refused = |micros| Step::Refuse { retry_after: Duration::from_micros(micros) };
    let mut ask = |row: &mut Row, micros| ask(&mut bucket, row, gcra, SECOND + micros);
    for _ in 0..3 {
        assert_eq!(ask(&mut row, 0), Step::Admit);
    }
    assert_eq!(ask(&mut row, 0), refused(100_000));
    assert_eq!(ask(&mut row, 99_999), refused(1));
    assert_eq!(row.writes, 3, "the process knows that the bucket is empty");
    assert_eq!(ask(&mut row, 100_000), Step::Admit);
    assert_eq!(ask(&mut row, 100_000), refused(100_000));
}
