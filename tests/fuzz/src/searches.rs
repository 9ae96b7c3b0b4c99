//! Searches and keywords: texts of people, compared without case and accents.

use domain::contact::search::{SearchQuery, normalise};
use domain::{Contact, ContactId, Email, Keywords, PersonName, Timestamp, WorkspaceId};
use uuid::Uuid;

/// The input is a name, a search or a customer's message.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let normal = normalise(text);
    assert_eq!(normalise(&normal), normal, "{text:?}");
    let searched = SearchQuery::parse(text);
    if let Ok(query) = &searched {
        assert_eq!(SearchQuery::parse(&format!(" {text}\t")).as_ref(), Ok(query));
        if let SearchQuery::Words { lead, others } = query {
            assert!(!lead.is_empty() && others.len() < SearchQuery::MAX_WORDS);
            // Whoever has the text as a name or an address is found by it.
            let (id, workspace) = (ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
            let nobody = Contact::blank(id, workspace, Timestamp::from_millis(0));
            if let Ok(name) = PersonName::parse(text) {
                assert!(query.finds(&Contact { last_name: Some(name), ..nobody.clone() }), "{text:?}");
            }
            if let Ok(email) = Email::parse(text) {
                assert!(query.finds(&Contact { email: Some(email), ..nobody }), "{text:?}");
            }
        }
    }
    let keywords = Keywords::default();
    let heard = |text: &str| keywords.heard_in(&[text]);
    let choice = heard(text);
    if text.chars().count() < 100 {
        assert_eq!(heard(&format!(" \n{text} !?")), choice, "{text:?}");
        assert_eq!(heard(&normal), choice, "{text:?}");
    }
}
