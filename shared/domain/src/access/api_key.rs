//! API keys: their format and validity.

use std::time::Duration;

use crate::access::actor::Actor;
use crate::access::kind::KeyKind;
use crate::access::scope::Scopes;
use crate::encoding::{base62, is_base62, random_base62, sha256_hex};
use crate::ids::{KeyId, WorkspaceId};
use crate::patch::Patch;
use crate::refused::{KeyLimit, Refused};
use crate::secret::Secret;
use crate::text::{Unfit, operator_name};
use crate::time::{Timestamp, days};

/// The text that a client sends in `x-api-key`: `msk_`, 32 random base62 characters and a checksum of 6
/// characters.
///
/// The checksum (CRC-32 in base62) lets the service reject a mistyped key without a table look-up.
#[derive(Clone)]
pub struct ApiKeyToken(Secret);

impl ApiKeyToken {
    const PREFIX: &'static str = "msk_";
    const RANDOM: usize = 32;
    const CHECK: usize = 6;

    /// Parses a key. Returns `None` if the prefix, the length, the characters or the checksum is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(Self::PREFIX)?;
        let known = is_base62(body);
        if body.len() != Self::RANDOM + Self::CHECK || !known {
            return None;
        }
        let (random, check) = body.split_at(Self::RANDOM);
        (check == Self::check_of(random)).then(|| Self(Secret::new(text)))
    }

    /// Makes a key from random numbers. Each number gives four characters.
    pub fn from_entropy(entropy: [u64; 8]) -> Self {
        let random = random_base62(&entropy);
        let check = Self::check_of(&random);
        Self(Secret::new(format!("{}{random}{check}", Self::PREFIX)))
    }

    /// The plain text of the key. Operators see it once.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The value that is stored: the SHA-256 of the key in lower-case hex. The key has 190 random bits, so no
    /// salt is needed.
    pub fn sha256_hex(&self) -> String {
        sha256_hex(self.expose().as_bytes())
    }

    fn check_of(random: &str) -> String {
        base62(u64::from(crc32fast::hash(random.as_bytes())), Self::CHECK)
    }
}

/// A stored key. The service stores only the hash of the key, which is the key of the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The public id of the key, for lists and revocation.
    pub id: KeyId,
    /// The only workspace that the key gives access to.
    pub workspace_id: WorkspaceId,
    /// The name that operators see, 1 to 256 characters.
    pub name: String,
    /// What the key is for.
    pub kind: KeyKind,
    /// What the key allows.
    pub scopes: Scopes,
    /// The rate limit of the key.
    pub rate: RateLimit,
    /// The key whose requests count together with those of this key: its own id, or the one that its makers began with. So
    /// sessions never add to a limit.
    pub bucket: KeyId,
    /// When the key was created.
    pub created_at: Timestamp,
    /// Who created the key.
    pub created_by: Actor,
    /// When the key expires, if it does.
    pub expires_at: Option<Timestamp>,
    /// When the key was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl ApiKey {
    /// The greatest number of valid keys that the tenants of a workspace made by the API.
    pub const MOST_MADE: u32 = 100;
    /// How long lists still show an expired key.
    const SHOWN_AFTER_EXPIRY: Duration = days(30);
    /// How long lists still show a revoked key.
    const SHOWN_AFTER_REVOCATION: Duration = days(400);
    /// How long the rows of an ended session or link are kept. It is longer than any function has them in memory.
    const KEPT_AFTER_SESSION: Duration = days(1);

    /// Creates a key. Returns an error if the expiry is not in the future or the name is invalid.
    pub fn new(
        id: KeyId,
        workspace_id: WorkspaceId,
        name: &str,
        grant: Grant,
        created_by: Actor,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        let Grant { scopes, rate, expires_at } = grant;
        if expires_at.is_some_and(|at| at <= now) {
            return Err(Unfit::Value { reason: "the expiry is in the past" });
        }
        let name = operator_name(name)?;
        let created_at = now;
        Ok(Self {
            id,
            workspace_id,
            name,
            kind: KeyKind::Key,
            scopes,
            rate,
            bucket: id,
            created_at,
            created_by,
            expires_at,
            revoked_at: None,
        })
    }

    /// Whether the key is valid at this time: not revoked and not expired.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// Checks that a tenant may make one more key with this limit, beside these keys of the workspace. The keys of operators do
    /// not count.
    pub fn check_room(
        keys: &[Self],
        wanted: RateLimit,
        key_rate: u32,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let made =
            keys.iter().filter(|key| key.is_good(now) && !matches!(key.created_by, Actor::Operator(_)));
        let (count, rates) =
            made.fold((0, 0), |(count, rates), key| (count + 1, rates + key.rate.per_second));
        if count >= Self::MOST_MADE {
            return Err(Refused::KeyLimitReached { limit: KeyLimit::ApiKeys, of: Self::MOST_MADE });
        }
        if rates.saturating_add(wanted.per_second) > key_rate {
            return Err(Refused::KeyLimitReached { limit: KeyLimit::KeyRate, of: key_rate });
        }
        Ok(())
    }

    /// The key with another name or an earlier expiry. `None` if nothing changes.
    pub fn changed(&self, change: &KeyChange, now: Timestamp) -> Result<Option<Self>, ExpiryRefused> {
        let name = change.name.clone().unwrap_or_else(|| self.name.clone());
        let expires_at = match change.expires_at {
            Patch::Keep => self.expires_at,
            Patch::Clear if self.expires_at.is_some() => return Err(ExpiryRefused::Later),
            Patch::Clear => None,
            Patch::Set(at) if self.expires_at == Some(at) => Some(at),
            Patch::Set(at) if at <= now => return Err(ExpiryRefused::Past),
            Patch::Set(at) if self.expires_at.is_some_and(|seen| seen < at) => {
                return Err(ExpiryRefused::Later);
            }
            Patch::Set(at) => Some(at),
        };
        let next = Self { name, expires_at, ..self.clone() };
        Ok((next != *self).then_some(next))
    }

    /// Until when lists show the key. `None` = without limit: a key that neither expires nor is revoked.
    pub fn shown_until(&self) -> Option<Timestamp> {
        if self.kind != KeyKind::Key {
            return self.expires_at.map(|at| at.plus(Self::KEPT_AFTER_SESSION));
        }
        let revoked = self.revoked_at.map(|at| at.plus(Self::SHOWN_AFTER_REVOCATION));
        revoked.or_else(|| self.expires_at.map(|at| at.plus(Self::SHOWN_AFTER_EXPIRY)))
    }

    /// The key, revoked now. `None` if it was revoked before.
    pub fn revoked(&self, now: Timestamp) -> Option<Self> {
        self.revoked_at.is_none().then(|| Self { revoked_at: Some(now), ..self.clone() })
    }
}

/// A change of a key. A key never gains anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// The new name.
    pub name: Option<String>,
    /// The new expiry.
    pub expires_at: Patch<Timestamp>,
}

/// Why an expiry is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryRefused {
    /// It has passed.
    Past,
    /// The key would be valid for longer.
    Later,
}

/// The scopes, the rate limit and the expiry of a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What the key allows.
    pub scopes: Scopes,
    /// The rate limit of the key.
    pub rate: RateLimit,
    /// When the key expires, if it does.
    pub expires_at: Option<Timestamp>,
}

/// A token bucket: its capacity (`burst`) and its refill rate (`per_second`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Sustained requests per second, 1 to [`RateLimit::MAX_PER_SECOND`].
    pub per_second: u32,
    /// Requests that a full bucket admits at once, 1 to [`RateLimit::MAX_BURST`].
    pub burst: u32,
}

impl RateLimit {
    /// The greatest rate. One row of the limiter's table takes at most 1,000 writes a second, and a request
    /// may need two writes.
    pub const MAX_PER_SECOND: u32 = 500;
    /// The greatest burst: one minute at the greatest rate.
    pub const MAX_BURST: u32 = 30_000;
    /// The limit of a key whose operator gives none.
    pub const DEFAULT: Self = Self { per_second: 50, burst: 100 };

    /// Makes a limit. Returns an error if a value is out of bounds.
    pub fn new(per_second: u32, burst: u32) -> Result<Self, Unfit> {
        if !(1..=Self::MAX_PER_SECOND).contains(&per_second) {
            return Err(Unfit::Value { reason: "the rate must be 1 to 500 requests per second" });
        }
        if !(1..=Self::MAX_BURST).contains(&burst) {
            return Err(Unfit::Value { reason: "the burst must be 1 to 30000 requests" });
        }
        Ok(Self { per_second, burst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator() -> Actor {
        Actor::Operator("AKIDOPERATOR".to_owned())
    }

    fn token() -> ApiKeyToken {
        ApiKeyToken::from_entropy([1, 2, 3, u64::MAX, 5, 6, 7, 8])
    }

    #[test]
    fn a_key_has_a_prefix_32_random_characters_and_a_checksum_of_6() {
        let key = token();
        assert_eq!(key.expose().len(), "msk_".len() + 32 + 6);
        assert!(key.expose().starts_with("msk_1000200030"), "{}", key.expose());
        assert_eq!(ApiKeyToken::parse(key.expose()).unwrap().expose(), key.expose());
        assert_eq!(format!("{:?}", key.0), "[redacted]");
    }

    #[test]
    fn the_stored_value_is_the_sha256_of_the_key() {
        let key = token();
        assert_eq!(key.expose(), "msk_100020003000FYHA5000600070008000SqPFh2");
        // `sha256sum` computed this value, not this code.
        let stored = "1ea3aad69010baa1332386d4b5217932fa83a45f7df127dafa69a8cf03c6c176";
        assert_eq!(key.sha256_hex(), stored);
    }

    #[test]
    fn the_checksum_detects_one_wrong_character_anywhere() {
        let key = token().expose().to_owned();
        for at in 0..key.len() {
            let other = if &key[at..=at] == "x" { "y" } else { "x" };
            let wrong = format!("{}{other}{}", &key[..at], &key[at + 1..]);
            assert!(ApiKeyToken::parse(&wrong).is_none(), "{wrong}");
        }
        for wrong in ["", "msk_", "msk_é", &key[..key.len() - 1], &format!("{key}0"), &key.to_uppercase()] {
            assert!(ApiKeyToken::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_valid_until_it_expires_or_is_revoked() {
        let at = Timestamp::from_millis;
        let key = ApiKey {
            id: KeyId::from_uuid(uuid::Uuid::nil()),
            workspace_id: WorkspaceId::from_uuid(uuid::Uuid::nil()),
            name: "k".into(),
            kind: KeyKind::Key,
            scopes: Scopes::parse(["*"]).unwrap(),
            rate: RateLimit::DEFAULT,
            bucket: KeyId::from_uuid(uuid::Uuid::nil()),
            created_at: at(0),
            created_by: operator(),
            expires_at: Some(at(1_000)),
            revoked_at: None,
        };
        assert!(key.is_good(at(999)));
        assert!(!key.is_good(at(1_000)));
        assert!(!ApiKey { revoked_at: Some(at(1)), ..key }.is_good(at(999)));
    }

    #[test]
    fn an_expired_key_is_shown_for_30_days_and_a_revoked_one_for_400() {
        let at = Timestamp::from_millis;
        let nil = uuid::Uuid::nil();
        let expiring = |expires_at: Option<Timestamp>| {
            let grant = Grant { scopes: Scopes::parse(["*"]).unwrap(), rate: RateLimit::DEFAULT, expires_at };
            ApiKey::new(KeyId::from_uuid(nil), WorkspaceId::from_uuid(nil), "k", grant, operator(), at(0))
                .unwrap()
        };
        let (lasting, ending) = (expiring(None), expiring(Some(at(1_000))));
        assert_eq!(lasting.shown_until(), None);
        assert_eq!(ending.shown_until(), Some(at(1_000).plus(days(30))));
        for key in [lasting, ending] {
            let revoked = key.revoked(at(7)).unwrap();
            assert_eq!(revoked.shown_until(), Some(at(7).plus(days(400))));
            assert_eq!(revoked.revoked(at(8)), None, "the first revocation stays");
        }
    }

    #[test]
    fn a_new_key_must_expire_in_the_future_and_its_rate_must_be_in_bounds() {
        let nil = uuid::Uuid::nil();
        let new = |expires_at: i64| {
            let expires_at = Some(Timestamp::from_millis(expires_at));
            let grant = Grant { scopes: Scopes::parse(["*"]).unwrap(), rate: RateLimit::DEFAULT, expires_at };
            let now = Timestamp::from_millis(1_000);
            ApiKey::new(KeyId::from_uuid(nil), WorkspaceId::from_uuid(nil), "k", grant, operator(), now)
        };
        assert!(new(1_001).is_ok());
        assert!(new(1_000).is_err());
        for (per_second, burst, good) in [
            (1, 1, true),
            (500, 30_000, true),
            (0, 1, false),
            (501, 1, false),
            (1, 0, false),
            (1, 30_001, false),
        ] {
            assert_eq!(RateLimit::new(per_second, burst).is_ok(), good, "{per_second}/{burst}");
        }
    }

    fn made(created_by: Actor, per_second: u32) -> ApiKey {
        let nil = uuid::Uuid::nil();
        let rate = RateLimit::new(per_second, 1).unwrap();
        let grant = Grant { scopes: Scopes::parse(["users:read"]).unwrap(), rate, expires_at: None };
        let (id, workspace) = (KeyId::from_uuid(nil), WorkspaceId::from_uuid(nil));
        ApiKey::new(id, workspace, "k", grant, created_by, Timestamp::from_millis(0)).unwrap()
    }

    #[test]
    fn the_keys_that_tenants_made_have_a_number_and_a_rate_together() {
        let tenant = || Actor::Key(KeyId::from_uuid(uuid::Uuid::nil()));
        let now = Timestamp::from_millis(1_000);
        let wanted = |per_second| RateLimit::new(per_second, 30_000).unwrap();
        let check = |keys: &[ApiKey], per_second| ApiKey::check_room(keys, wanted(per_second), 200, now);
        let rate = Err(Refused::KeyLimitReached { limit: KeyLimit::KeyRate, of: 200 });
        assert_eq!((check(&[], 200), check(&[], 201)), (Ok(()), rate.clone()));
        let half = made(tenant(), 100);
        assert_eq!(check(std::slice::from_ref(&half), 100), Ok(()));
        assert_eq!(check(std::slice::from_ref(&half), 101), rate);
        let of_operator = made(operator(), 500);
        let revoked = made(tenant(), 500).revoked(now).unwrap();
        let expired = ApiKey { expires_at: Some(now), ..made(tenant(), 500) };
        assert_eq!(check(&[of_operator, revoked, expired, half], 100), Ok(()), "these do not count");
        let many = vec![made(tenant(), 1); 99];
        assert_eq!(check(&many, 1), Ok(()));
        let number = Err(Refused::KeyLimitReached { limit: KeyLimit::ApiKeys, of: 100 });
        assert_eq!(check(&[many, vec![made(tenant(), 1)]].concat(), 1), number);
    }

    #[test]
    fn a_key_gets_another_name_or_an_earlier_expiry() {
        let at = Timestamp::from_millis;
        let lasting = made(operator(), 1);
        let ending = ApiKey { expires_at: Some(at(500)), ..lasting.clone() };
        let set = |millis| Patch::Set(at(millis));
        let rows = [
            (&lasting, Patch::Keep, Ok(None)),
            (&lasting, Patch::Clear, Ok(None)),
            (&lasting, set(300), Ok(Some(at(300)))),
            (&ending, set(300), Ok(Some(at(300)))),
            (&ending, set(500), Ok(None)),
            (&ending, set(501), Err(ExpiryRefused::Later)),
            (&ending, Patch::Clear, Err(ExpiryRefused::Later)),
            (&ending, set(100), Err(ExpiryRefused::Past)),
            (&lasting, set(99), Err(ExpiryRefused::Past)),
        ];
        for (key, expires_at, expected) in rows {
            let changed = key.changed(&KeyChange { name: None, expires_at: expires_at.clone() }, at(100));
            assert_eq!(changed.map(|next| next.and_then(|next| next.expires_at)), expected, "{expires_at:?}");
        }
        let renamed = |name: &str| KeyChange { name: Some(name.to_owned()), expires_at: Patch::Keep };
        assert_eq!(lasting.changed(&renamed("k"), at(1)), Ok(None));
        let other = ApiKey { name: "crm".to_owned(), ..lasting.clone() };
        assert_eq!(lasting.changed(&renamed("crm"), at(1)), Ok(Some(other)));
    }
}
