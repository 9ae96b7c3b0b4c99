//! The codes of failed messages and leads in plain language, for the people who look after them.

use crate::sending::PartError;

/// What happened and what to do, without a full stop. `None` for a code that is not known here: the provider adds
/// codes without notice.
pub fn in_words(error: &PartError) -> Option<&'static str> {
    let of_code = |table: &[(&'static str, &'static str)]| {
        table.iter().find(|(code, _)| *code == error.as_str()).map(|(_, words)| *words)
    };
    of_code(OWN).or_else(|| of_code(PROVIDER)).or_else(|| match error.as_str().strip_prefix("HTTP_")? {
        "401" | "403" => Some("WhatsApp refused the line's token: set a new one with `line token`"),
        "404" => Some("WhatsApp does not know the line: check its phone number id"),
        "413" => Some("the request was too large for WhatsApp"),
        _ => Some("WhatsApp refused the request without a code: the number after HTTP_ is the status"),
    })
}

/// The codes of this service.
const OWN: &[(&str, &str)] = &[
    (PartError::NO_ADDRESS, "the contact has neither a phone number nor a WhatsApp user id"),
    (
        PartError::MISSING_VALUE,
        "the contact has no value for a variable of the template, which has no fallback",
    ),
    (PartError::UNFIT_VALUE, "a value of the template does not fit its place"),
    (PartError::NO_TEMPLATE, "the template no longer exists"),
    (
        PartError::NO_CONTENT,
        "the part has no content: the file no longer exists, or the message was split differently",
    ),
    (PartError::NO_LINE, "the line or the brand no longer exists"),
    (PartError::BLOCKED, "the conversation was blocked before the message was sent"),
    (PartError::GIVEN_UP, "WhatsApp did not accept the message during the whole retry period"),
    (PartError::NO_ANSWER, "WhatsApp did not answer: nobody knows whether the person received the message"),
    (
        PartError::INTERRUPTED,
        "the sender was interrupted: nobody knows whether the person received the message",
    ),
    (PartError::NUMBER_CHANGED, "the contact no longer has the number of the lead"),
    (PartError::NOT_DELIVERED, "WhatsApp reported that the message was not delivered, without a code"),
    (PartError::NO_CONSENT, "the visitor did not give consent"),
    (PartError::CAPTURE_DISABLED, "lead capture was disabled before the message was sent"),
    (
        PartError::OUTSIDE_WINDOW,
        "the person last wrote more than 24 hours ago, so WhatsApp was not called: only a template can be sent",
    ),
    (PartError::OPTED_OUT, "the person opted out of templates"),
    (PartError::OPTED_OUT_MARKETING, "the person opted out of marketing templates"),
    (PartError::NOT_APPROVED, "the template is not approved for the account of the line"),
];

/// The codes of the Graph API that the Cloud API documents for messages.
const PROVIDER: &[(&str, &str)] = &[
    // The token and its rights.
    ("0", "WhatsApp does not accept the line's token: set a new one with `line token`"),
    ("3", "the line's token lacks a right that sending needs"),
    ("10", "the line's token lacks a right, or the right was withdrawn"),
    ("190", "the line's token has expired or was revoked: set a new one with `line token`"),
    ("200", "the line's token lacks a right, or the right was withdrawn"),
    ("131005", "the line's token has no access to the line"),
    // The account and the line.
    ("33", "the phone number of the line was deleted at WhatsApp"),
    ("368", "WhatsApp restricted the account because it broke a policy"),
    ("131031", "WhatsApp locked the account: see its notices in the WhatsApp Manager"),
    ("131037", "the display name of the line is not approved yet"),
    ("131042", "WhatsApp cannot bill the account: check its payment method and credit limit"),
    ("131045", "the registration of the line failed: register its phone number again"),
    ("131057", "the account is in maintenance at WhatsApp"),
    ("133010", "the phone number of the line is not registered at WhatsApp"),
    // The rate.
    ("4", "the app calls WhatsApp too often"),
    ("80007", "the account calls WhatsApp too often"),
    ("130429", "the line sends faster than WhatsApp permits"),
    ("131048", "WhatsApp limits the line because people blocked it or reported spam"),
    ("131056", "the line sent too many messages to this person in a short time"),
    // The person.
    ("130472", "WhatsApp withholds marketing messages from this person as part of an experiment"),
    ("131021", "the number is the line's own number"),
    (
        "131026",
        "WhatsApp cannot deliver to this number: it may have no WhatsApp, an old version or terms not accepted",
    ),
    ("131030", "the line is a test number, and this number is not on its list of recipients"),
    ("131047", "the person last wrote more than 24 hours ago: only a template can be sent"),
    ("131049", "WhatsApp holds back marketing messages to this person for now: wait at least a day"),
    ("131050", "the person no longer wants marketing messages from this business"),
    // The message.
    ("1", "WhatsApp did not understand the request, or had a fault"),
    ("2", "WhatsApp is overloaded or down"),
    ("100", "WhatsApp did not accept a value of the request"),
    ("131000", "WhatsApp had a fault that it does not explain"),
    ("131008", "the request lacks a value that WhatsApp needs"),
    ("131009", "WhatsApp did not accept a value of the request"),
    ("131016", "WhatsApp is overloaded or down"),
    ("131062", "WhatsApp does not send this message to a person without a known number"),
    ("131051", "WhatsApp does not send messages of this kind"),
    ("131052", "WhatsApp could not download the file"),
    ("131053", "WhatsApp could not take over the file: check its type and size"),
    ("135000", "WhatsApp had a fault with the values of the request"),
    // The template.
    ("132000", "the template has another number of variables at WhatsApp"),
    ("132001", "WhatsApp has no approved template with this name in this language"),
    ("132005", "the template's text is too long with these values"),
    ("132007", "the template's text breaks a rule of WhatsApp about its characters"),
    ("132012", "a value does not have the form that the template needs"),
    ("132015", "WhatsApp paused the template because people rated it badly"),
    ("132016", "WhatsApp disabled the template for good because it was paused too often"),
    ("132068", "the template's flow is blocked"),
    ("132069", "WhatsApp limits how often the template's flow is sent because it has faults"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn words(code: &str) -> Option<&'static str> {
        in_words(&PartError::of(code))
    }

    #[test]
    fn a_code_is_explained_once_and_in_words() {
        let rows: Vec<_> = OWN.iter().chain(PROVIDER).collect();
        let codes: BTreeSet<&str> = rows.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes.len(), rows.len(), "each code has one row");
        for (code, of_code) in rows {
            assert_eq!(words(code), Some(*of_code), "{code}");
            assert!(!of_code.ends_with('.') && of_code.contains(' '), "{code}: {of_code}");
        }
        assert!(PROVIDER.iter().all(|(code, _)| code.parse::<u32>().is_ok()));
    }

    #[test]
    fn every_code_of_the_service_is_explained() {
        let sources = [include_str!("error.rs"), include_str!("../lead/sending.rs")];
        let declared = sources.iter().flat_map(|source| source.lines());
        let codes: Vec<&str> = declared
            .filter(|line| line.trim_start().starts_with("pub const "))
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        assert!(codes.len() >= OWN.len() && codes.contains(&PartError::OPTED_OUT), "{codes:?}");
        for code in codes {
            assert!(OWN.iter().any(|(known, _)| *known == code), "{code}");
        }
    }

    #[test]
    fn a_status_without_a_code_is_explained_and_an_unknown_code_is_not() {
        assert_eq!(words("HTTP_401"), words("HTTP_403"));
        assert!(words("HTTP_404").is_some() && words("HTTP_418").is_some());
        assert_eq!((words("999999"), words(""), words("131026 ")), (None, None, None));
    }
}
