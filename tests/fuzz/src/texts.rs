//! Short texts: what a type accepts it prints as it was sent, and within its limits.

use domain::invisible::visible;
use domain::lead::{LandingUri, LeadName};
use domain::text::{operator_name, printable};
use domain::webhook::delivery::DeliveryId;
use domain::{
    BrandId, ChannelId, ContactId, ConversationName, Email, Language, MessageBody, PartId, PersonName,
    ProviderAppId, ProviderUserId, Scopes, WaId,
};

/// The input is a text.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let characters = text.chars().count();
    let same = |printed: &str, most: usize| assert!(printed == text && characters <= most, "{text:?}");

    if let Ok(email) = Email::parse(text) {
        assert!(
            email.as_str() == visible(text.trim()) && email.as_str().chars().count() <= Email::MAX,
            "{text:?}"
        );
        assert!(text.matches('@').count() == 1 && !email.as_str().contains(char::is_whitespace));
        let key = email.key();
        assert_eq!(Email::parse(key.as_str()).map(|email| email.key()), Ok(key), "{text:?}");
    }
    if let Ok(name) = PersonName::parse(text) {
        assert_eq!(name.as_str(), visible(text));
        assert!(characters <= PersonName::MAX && !name.as_str().contains(char::is_control), "{text:?}");
    }
    if let Ok(name) = ConversationName::parse(text) {
        assert_eq!(name.as_str(), visible(text));
        assert!(characters <= ConversationName::MAX && !name.as_str().contains(char::is_control), "{text:?}");
    }
    if let Ok(name) = operator_name(text) {
        same(&name, 256);
    }
    if let Ok(id) = ChannelId::parse(text) {
        same(id.as_str(), ChannelId::MAX);
    }
    if let Ok(id) = BrandId::parse(text) {
        same(id.as_str(), BrandId::MAX);
    }
    if let Ok(id) = ProviderUserId::parse(text) {
        same(id.as_str(), 128);
    }
    if let Ok(id) = ProviderAppId::parse(text) {
        same(id.as_str(), 32);
    }
    if let Ok(id) = WaId::parse(text) {
        same(id.as_str(), 20);
        assert!(id.key().forms().iter().any(|form| form == text), "{text}");
    }
    if let Ok(page) = LandingUri::parse(text) {
        same(page.as_str(), LandingUri::MAX);
        assert!(text[..4].eq_ignore_ascii_case("http"), "{text:?}");
    }
    if let Ok(Some(name)) = LeadName::read(text) {
        assert_eq!(name.as_str(), printable(text).trim());
        let (first, rest) = name.first_and_last();
        assert!(first.is_some(), "{text:?}");
        assert!(rest.is_none_or(|rest| name.as_str().ends_with(rest.as_str())));
    }
    if let Ok(body) = MessageBody::parse(text) {
        assert_eq!(MessageBody::parse(body.as_str()).unwrap().as_str(), text.trim());
    }
    if let Ok(id) = ContactId::parse(text) {
        assert_eq!(id.to_string(), text.to_ascii_lowercase());
    }
    if let Ok(language) = Language::parse(text) {
        assert_eq!(language.as_str(), text);
    }
    if let Ok(scopes) = Scopes::parse(text.split(',')) {
        assert!(!text.is_empty(), "{scopes:?}");
    }
    // The provider repeats the id of a part in its webhooks.
    if let Some(part) = PartId::parse(text) {
        assert_eq!(part.to_string(), text);
    }
    if let Ok(delivery) = DeliveryId::parse(text) {
        assert_eq!(DeliveryId::parse(&delivery.to_string()), Ok(delivery), "{text:?}");
    }
}
