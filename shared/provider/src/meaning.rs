//! How a call can end, and what that means for the message.

/// How a call ended, as far as the client can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// No byte of the request was written, because the connection was never made.
    NeverConnected,
    /// The request may have been written. There was no complete answer, or the answer does not say what
    /// happened to the message.
    NoAnswer,
    /// An answer arrived, with its HTTP status and, if it is an error, the Graph API's code.
    Answered {
        /// The HTTP status.
        status: u16,
        /// `error.code` of the body.
        code: Option<u32>,
    },
}

/// What an ending means for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The provider accepted the message.
    Accepted,
    /// The provider throttles the line: wait, and count no attempt.
    Throttled,
    /// The provider throttles messages to this recipient. Other recipients of the line are not affected.
    RecipientThrottled,
    /// The provider paused the template, and so did not accept the message: look again later.
    TemplatePaused,
    /// The provider certainly did not accept the message: retry by the schedule.
    Retry,
    /// The provider refused the message permanently.
    Failed,
    /// The provider may have accepted the message: only an operator may send it again.
    Unknown,
}

/// Graph codes that throttle the app, the account or the number, whatever the HTTP status.
pub(crate) const THROTTLES: &[u32] = &[4, 80_007, 130_429];
/// The Graph code for too many messages from one number to the same recipient.
pub(crate) const RECIPIENT_THROTTLES: u32 = 131_056;
/// The Graph code for a template that is paused because people rate it badly.
pub(crate) const TEMPLATE_PAUSED: u32 = 132_015;
/// Graph codes of a 5xx which say that the message was not accepted.
pub(crate) const NOT_TAKEN: &[u32] = &[1, 2, 131_000, 131_016];

/// The meaning of an ending.
pub fn meaning(outcome: CallOutcome) -> Meaning {
    match outcome {
        CallOutcome::NeverConnected => Meaning::Retry,
        CallOutcome::NoAnswer => Meaning::Unknown,
        CallOutcome::Answered { code: Some(RECIPIENT_THROTTLES), .. } => Meaning::RecipientThrottled,
        CallOutcome::Answered { code: Some(TEMPLATE_PAUSED), .. } => Meaning::TemplatePaused,
        CallOutcome::Answered { status: 429, .. } => Meaning::Throttled,
        CallOutcome::Answered { code: Some(code), .. } if THROTTLES.contains(&code) => Meaning::Throttled,
        CallOutcome::Answered { status: 200..=299, .. } => Meaning::Accepted,
        CallOutcome::Answered { status: 500.., code: Some(code) } if NOT_TAKEN.contains(&code) => {
            Meaning::Retry
        }
        CallOutcome::Answered { status: 500.., .. } => Meaning::Unknown,
        CallOutcome::Answered { .. } => Meaning::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_with_a_meaning_of_its_own_is_explained() {
        for code in THROTTLES.iter().chain(NOT_TAKEN).chain([&RECIPIENT_THROTTLES, &TEMPLATE_PAUSED]) {
            let error = domain::sending::PartError::of(code.to_string());
            assert!(domain::sending::in_words(&error).is_some(), "{code}");
        }
    }

    #[test]
    fn every_ending_has_the_decided_meaning() {
        let answered = |status, code| CallOutcome::Answered { status, code };
        let rows = [
            (CallOutcome::NeverConnected, Meaning::Retry),
            (CallOutcome::NoAnswer, Meaning::Unknown),
            (answered(200, None), Meaning::Accepted),
            (answered(429, None), Meaning::Throttled),
            (answered(400, Some(4)), Meaning::Throttled),
            (answered(400, Some(80_007)), Meaning::Throttled),
            (answered(400, Some(130_429)), Meaning::Throttled),
            (answered(500, Some(131_056)), Meaning::RecipientThrottled),
            (answered(429, Some(131_056)), Meaning::RecipientThrottled),
            (answered(429, Some(130_429)), Meaning::Throttled),
            (answered(400, Some(132_015)), Meaning::TemplatePaused),
            (answered(400, Some(132_016)), Meaning::Failed),
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
        for (outcome, expected) in rows {
            assert_eq!(meaning(outcome), expected, "{outcome:?}");
        }
    }
}
