//! The ids by which the provider names a customer, and where a message to a customer is sent.

use std::fmt;

use crate::ids::BusinessAccountId;
use crate::phone::PhoneKey;
use crate::text::{Cellphone, Unfit};

/// A customer's id for one business at the provider ("business-scoped user id"): 1 to 128 visible ASCII
/// characters. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderUserId(String);

impl ProviderUserId {
    const PATTERN: &'static str = "^[!-~]{1,128}$";

    /// Parses an id.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: "1 to 128 visible ASCII characters" };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// The id as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderUserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ProviderUserId]")
    }
}

/// A customer's user ids by business account: a customer has another id for each portfolio of accounts. An account has one
/// id, and the one that was learnt last is the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserIds(Vec<(BusinessAccountId, ProviderUserId)>);

impl UserIds {
    /// The greatest number of accounts. An id for a further account takes the place of the one that was learnt first.
    pub const MAX: usize = 3;

    /// The only id, for this account.
    pub fn one(account: BusinessAccountId, id: ProviderUserId) -> Self {
        Self(vec![(account, id)])
    }

    /// The id for an account.
    pub fn of(&self, account: &BusinessAccountId) -> Option<&ProviderUserId> {
        self.iter().find_map(|(of, id)| (of == account).then_some(id))
    }

    /// The ids, each once: accounts of one portfolio have the same.
    pub fn ids(&self) -> impl Iterator<Item = &ProviderUserId> {
        let is_first = |at: usize| !self.0[..at].iter().any(|(_, id)| *id == self.0[at].1);
        self.0.iter().enumerate().filter_map(move |(at, (_, id))| is_first(at).then_some(id))
    }

    /// Whether this is the id for any of the accounts.
    pub fn has(&self, id: &ProviderUserId) -> bool {
        self.0.iter().any(|(_, of)| of == id)
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The accounts with their ids, in the order in which they were learnt.
    pub fn iter(&self) -> impl Iterator<Item = &(BusinessAccountId, ProviderUserId)> {
        self.0.iter()
    }

    /// The ids with this one for the account. An account that has the id already keeps its place.
    #[must_use]
    pub fn with(&self, account: &BusinessAccountId, id: &ProviderUserId) -> Self {
        if self.of(account) == Some(id) {
            return self.clone();
        }
        let others = self.0.iter().filter(|(of, _)| of != account).cloned();
        let mut all: Vec<_> = others.chain([(account.clone(), id.clone())]).collect();
        all.drain(..all.len().saturating_sub(Self::MAX));
        Self(all)
    }

    /// These ids, and those of `others` for further accounts as long as there is a place.
    #[must_use]
    pub fn filled(&self, others: &Self) -> Self {
        let further = others.0.iter().filter(|(account, _)| self.of(account).is_none());
        Self(self.0.iter().chain(further).take(Self::MAX).cloned().collect())
    }

    /// The ids after the customer got another one in the place of `old`, also for other accounts of the portfolio. If the
    /// contact has not the old one, the new one is that of the account.
    #[must_use]
    pub fn replaced(
        &self,
        old: Option<&ProviderUserId>,
        account: &BusinessAccountId,
        new: &ProviderUserId,
    ) -> Self {
        let is_old = |id: &ProviderUserId| old == Some(id);
        if !self.0.iter().any(|(_, id)| is_old(id)) {
            return self.with(account, new);
        }
        let next = |(of, id): &(_, _)| (Clone::clone(of), if is_old(id) { new.clone() } else { id.clone() });
        Self(self.0.iter().map(next).collect())
    }
}

impl FromIterator<(BusinessAccountId, ProviderUserId)> for UserIds {
    fn from_iter<I: IntoIterator<Item = (BusinessAccountId, ProviderUserId)>>(ids: I) -> Self {
        ids.into_iter().fold(Self::default(), |all, (account, id)| all.with(&account, &id))
    }
}

/// A customer's number as the provider names it: 5 to 20 digits without `+`. It may differ from the number
/// that was dialled. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaId(String);

impl WaId {
    const PATTERN: &'static str = "^[0-9]{5,20}$";

    /// Parses an id.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (5..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: "5 to 20 digits" };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The phone number with these digits, if they can be one.
    pub fn cellphone(&self) -> Option<Cellphone> {
        Cellphone::parse(&format!("+{}", self.0)).ok()
    }

    /// The key under which the number is compared and stored.
    pub fn key(&self) -> PhoneKey {
        PhoneKey::of(&self.0)
    }
}

impl fmt::Debug for WaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[WaId]")
    }
}

/// Where a message is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A phone number.
    Number(Cellphone),
    /// The id of a customer whose number is not known.
    User(ProviderUserId),
}

impl Address {
    /// The number or the id.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Number(number) => number.as_str(),
            Self::User(user) => user.as_str(),
        }
    }
}

/// The ids under which the provider reached a customer, as far as it named them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The number.
    pub wa_id: Option<WaId>,
    /// The id for this business.
    pub user_id: Option<ProviderUserId>,
}

impl Reached {
    /// The ids as the provider names them. One that is not of the documented form counts as not named.
    pub fn named(wa_id: Option<&str>, user_id: Option<&str>) -> Self {
        Self {
            wa_id: wa_id.and_then(|id| WaId::parse(id).ok()),
            user_id: user_id.and_then(|id| ProviderUserId::parse(id).ok()),
        }
    }

    /// The phone number that the provider names, if it can be one.
    pub fn cellphone(&self) -> Option<Cellphone> {
        self.wa_id.as_ref().and_then(WaId::cellphone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_provider_are_bounded() {
        for good in ["US.13491208655302741918", "a", &"x".repeat(128)] {
            assert_eq!(ProviderUserId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "é", "a\n", &"x".repeat(129)] {
            assert!(ProviderUserId::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["12345", "14155550123", "12345678901234567890"] {
            assert_eq!(WaId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "1234", "+14155550123", "123456789012345678901", "1415555O123", "١٢٣٤٥٦"] {
            assert!(WaId::parse(bad).is_err(), "{bad:?}");
        }
        let id = ProviderUserId::parse("US.1").unwrap();
        assert_eq!(format!("{id:?} {:?}", WaId::parse("14155550123").unwrap()), "[ProviderUserId] [WaId]");
    }

    #[test]
    fn digits_that_cannot_be_a_number_have_no_number() {
        let number = |digits| WaId::parse(digits).unwrap().cellphone();
        assert_eq!(number("14155550123"), Cellphone::parse("+14155550123").ok());
        for none in ["12345", "01234567890", "1234567890123456"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
