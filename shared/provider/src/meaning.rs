//! How a call can end, and what that means for the message.

/// How a call ended, as far as we can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No byte of the request was written: the connection was never made.
    NeverConnected,
    /// The request may have been written, and no whole answer came back, or none that says what became of it.
    NoAnswer,
    /// An answer came, with its HTTP status and, in an error, the Graph API's code.
    Answered {
        /// HTTP status.
        status: u16,
        /// `error.code` of the body.
        code: Option<u32>,
    },
}

/// What an ending means for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The provider has it.
    Accepted,
    /// The provider asks us to slow down with all that is sent from the line: wait, and count no attempt.
    Throttled,
    /// It asks us to slow down towards this recipient; whoever else is written to from the line is not concerned.
    RecipientThrottled,
    /// It was surely not taken: try again by the schedule.
    Retry,
    /// It was refused for good.
    Failed,
    /// It may have been taken: never sent again but by an operator.
    Unknown,
}

/// Graph codes that throttle, whatever the status they come with: calls of the app, of the account, of the number.
const THROTTLES: &[u32] = &[4, 80_007, 130_429];
/// The Graph code of too many messages from one number to the same recipient.
const RECIPIENT_THROTTLES: u32 = 131_056;
/// Graph codes of a 5xx that say the message was not taken.
const NOT_TAKEN: &[u32] = &[1, 2, 131_000, 131_016];

/// Says what an ending means.
pub fn meaning(ending: Ending) -> Meaning {
    match ending {
        Ending::NeverConnected => Meaning::Retry,
        Ending::NoAnswer => Meaning::Unknown,
        Ending::Answered { code: Some(RECIPIENT_THROTTLES), .. } => Meaning::RecipientThrottled,
        Ending::Answered { status: 429, .. } => Meaning::Throttled,
        Ending::Answered { code: Some(code), .. } if THROTTLES.contains(&code) => Meaning::Throttled,
        Ending::Answered { status: 200..=299, .. } => Meaning::Accepted,
        Ending::Answered { status: 500.., code: Some(code) } if NOT_TAKEN.contains(&code) => Meaning::Retry,
        Ending::Answered { status: 500.., .. } => Meaning::Unknown,
        Ending::Answered { .. } => Meaning::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_means_what_the_decisions_say() {
        let answered = |status, code| Ending::Answered { status, code };
        let rows = [
            (Ending::NeverConnected, Meaning::Retry),
            (Ending::NoAnswer, Meaning::Unknown),
            (answered(200, None), Meaning::Accepted),
            (answered(429, None), Meaning::Throttled),
            (answered(400, Some(4)), Meaning::Throttled),
            (answered(400, Some(80_007)), Meaning::Throttled),
            (answered(400, Some(130_429)), Meaning::Throttled),
            (answered(500, Some(131_056)), Meaning::RecipientThrottled),
            (answered(429, Some(131_056)), Meaning::RecipientThrottled),
            (answered(429, Some(130_429)), Meaning::Throttled),
            (answered(500, Some(1)), Meaning::Retry),
            (answered(503, Some(2)), Meaning::Retry),
            (answered(500, Some(131_000)), Meaning::Retry),
            (answered(500, Some(131_016)), Meaning::Retry),
            (answered(500, Some(99)), Meaning::Unknown),
            (answered(502, None), Meaning::Unknown),
            (answered(400, Some(131_026)), Meaning::Failed),
            (answered(404, Some(132_001)), Meaning::Failed),
            (answered(400, Some(1)), Meaning::Failed),
            (answered(401, None), Meaning::Failed),
            (answered(302, None), Meaning::Failed),
        ];
        for (ending, expected) in rows {
            assert_eq!(meaning(ending), expected, "{ending:?}");
        }
    }
}
