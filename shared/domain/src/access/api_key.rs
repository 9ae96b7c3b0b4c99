//! API keys: their form, their scopes, when they are good.

use crate::encoding::{base62, is_base62, random_base62, sha256_hex};
use crate::ids::{KeyId, WorkspaceId};
use crate::secret::Secret;
use crate::text::{Unfit, operator_name};
use crate::time::Timestamp;

/// The text a client sends in `x-api-key`: `msk_`, 32 random base62 characters and 6 that check them.
///
/// The check (CRC-32 in base62) lets a mistyped key be refused without a look into the table.
#[derive(Clone)]
pub struct ApiKeyToken(Secret);

impl ApiKeyToken {
    const PREFIX: &'static str = "msk_";
    const RANDOM: usize = 32;
    const CHECK: usize = 6;

    /// Reads a key as sent; `None` for anything that was never given out.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(Self::PREFIX)?;
        let known = is_base62(body);
        if body.len() != Self::RANDOM + Self::CHECK || !known {
            return None;
        }
        let (random, check) = body.split_at(Self::RANDOM);
        (check == Self::check_of(random)).then(|| Self(Secret::new(text)))
    }

    /// Makes a key from random numbers, one for each four characters.
    pub fn from_entropy(entropy: [u64; 8]) -> Self {
        let random = random_base62(&entropy);
        let check = Self::check_of(&random);
        Self(Secret::new(format!("{}{random}{check}", Self::PREFIX)))
    }

    /// The key itself, to be shown once.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// What is stored: the SHA-256 of the key in lower-case hex. The key has 190 bits, so no salt is needed.
    pub fn sha256_hex(&self) -> String {
        sha256_hex(self.expose().as_bytes())
    }

    fn check_of(random: &str) -> String {
        base62(u64::from(crc32fast::hash(random.as_bytes())), Self::CHECK)
    }
}

/// A key as the service knows it: never the key, only its hash, which is where the row stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Public name of the key, for lists and revocation.
    pub id: KeyId,
    /// The one workspace the key opens.
    pub workspace_id: WorkspaceId,
    /// Name shown to operators, 1 to 256 characters.
    pub name: String,
    /// What the key may do.
    pub scopes: Scopes,
    /// How fast it may be used.
    pub rate: RateLimit,
    /// When it was made.
    pub created_at: Timestamp,
    /// From then on it is refused.
    pub expires_at: Option<Timestamp>,
    /// Since then it is refused.
    pub revoked_at: Option<Timestamp>,
}

impl ApiKey {
    /// A new key. An expiry, where there is one, lies ahead.
    pub fn new(
        id: KeyId,
        workspace_id: WorkspaceId,
        name: &str,
        grant: Grant,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        let Grant { scopes, rate, expires_at } = grant;
        if expires_at.is_some_and(|at| at <= now) {
            return Err(Unfit::Value { reason: "the expiry is in the past" });
        }
        let name = operator_name(name)?;
        Ok(Self { id, workspace_id, name, scopes, rate, created_at: now, expires_at, revoked_at: None })
    }

    /// Whether the key opens its workspace at this moment.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

/// What a new key is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What the key may do.
    pub scopes: Scopes,
    /// How fast it may be used.
    pub rate: RateLimit,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// A token bucket: so many requests at once, refilled at so many a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests a second in the long run, 1 to [`RateLimit::MAX_PER_SECOND`].
    pub per_second: u32,
    /// Requests that may come at once after a rest, 1 to [`RateLimit::MAX_BURST`].
    pub burst: u32,
}

impl RateLimit {
    /// One row of the limiter's table takes at most 1,000 writes a second, and a request may need two.
    pub const MAX_PER_SECOND: u32 = 500;
    /// A minute's worth at the greatest rate.
    pub const MAX_BURST: u32 = 30_000;
    /// What a key gets when the operator says nothing.
    pub const DEFAULT: Self = Self { per_second: 50, burst: 100 };

    /// A limit within its bounds.
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

/// One thing a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Endpoints 2 and 3.
    ConversationsRead,
    /// Endpoints 1 and 4.
    ConversationsWrite,
    /// Endpoints 5 and 6.
    ContactsRead,
    /// Endpoint 7.
    ContactsWrite,
    /// Endpoint 8.
    SettingsRead,
    /// Endpoint 9.
    UsersRead,
    /// Endpoint 10.
    FilesWrite,
    /// Endpoint 11.
    MessagesWrite,
}

impl Scope {
    const ALL: &'static [(&'static str, Scope)] = &[
        ("conversations:read", Self::ConversationsRead),
        ("conversations:write", Self::ConversationsWrite),
        ("contacts:read", Self::ContactsRead),
        ("contacts:write", Self::ContactsWrite),
        ("settings:read", Self::SettingsRead),
        ("users:read", Self::UsersRead),
        ("files:write", Self::FilesWrite),
        ("messages:write", Self::MessagesWrite),
    ];

    /// The words of scopes, `*` (every scope, future ones too) last.
    pub const NAMES: &'static [&'static str] = &[
        "conversations:read",
        "conversations:write",
        "contacts:read",
        "contacts:write",
        "settings:read",
        "users:read",
        "files:write",
        "messages:write",
        "*",
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, scope)| *scope == self).map_or("", |(name, _)| name)
    }
}

/// What a key may do: everything, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scopes {
    /// `*`: every scope, future ones too.
    All,
    /// These, each once, in order.
    Only(Vec<Scope>),
}

impl Scopes {
    /// Reads the words of [`Scope::NAMES`].
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, Unfit> {
        let mut scopes = vec![];
        for word in words {
            if word == "*" {
                return Ok(Self::All);
            }
            match Scope::ALL.iter().find(|(name, _)| *name == word) {
                Some((_, scope)) => scopes.push(*scope),
                None => return Err(Unfit::NotOneOf { expected: Scope::NAMES }),
            }
        }
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Self::Only(scopes))
    }

    /// The words, for rows and lists.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::All => vec!["*"],
            Self::Only(scopes) => scopes.iter().map(|scope| scope.as_str()).collect(),
        }
    }

    /// Whether a key with these scopes may do that.
    pub fn allow(&self, wanted: Scope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(&wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> ApiKeyToken {
        ApiKeyToken::from_entropy([1, 2, 3, u64::MAX, 5, 6, 7, 8])
    }

    #[test]
    fn a_key_is_a_prefix_32_random_characters_and_a_check_of_6() {
        let key = token();
        assert_eq!(key.expose().len(), "msk_".len() + 32 + 6);
        assert!(key.expose().starts_with("msk_1000200030"), "{}", key.expose());
        assert_eq!(ApiKeyToken::parse(key.expose()).unwrap().sha256_hex(), key.sha256_hex());
        assert_eq!(format!("{:?}", key.0), "[redacted]");
    }

    #[test]
    fn one_wrong_character_anywhere_is_noticed() {
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
    fn a_key_is_good_until_it_expires_or_is_revoked() {
        let at = Timestamp::from_millis;
        let key = ApiKey {
            id: KeyId::from_uuid(uuid::Uuid::nil()),
            workspace_id: WorkspaceId::from_uuid(uuid::Uuid::nil()),
            name: "k".into(),
            scopes: Scopes::All,
            rate: RateLimit::DEFAULT,
            created_at: at(0),
            expires_at: Some(at(1_000)),
            revoked_at: None,
        };
        assert!(key.is_good(at(999)));
        assert!(!key.is_good(at(1_000)));
        assert!(!ApiKey { revoked_at: Some(at(1)), ..key }.is_good(at(999)));
    }

    #[test]
    fn a_new_key_expires_in_the_future_and_its_rate_is_within_bounds() {
        let nil = uuid::Uuid::nil();
        let new = |expires_at: i64| {
            let expires_at = Some(Timestamp::from_millis(expires_at));
            let grant = Grant { scopes: Scopes::All, rate: RateLimit::DEFAULT, expires_at };
            let now = Timestamp::from_millis(1_000);
            ApiKey::new(KeyId::from_uuid(nil), WorkspaceId::from_uuid(nil), "k", grant, now)
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

    #[test]
    fn scopes_allow_what_they_name_and_a_star_allows_all() {
        let reading = Scopes::parse(["users:read", "contacts:read", "users:read"]).unwrap();
        assert_eq!(reading.names(), ["contacts:read", "users:read"]);
        assert!(reading.allow(Scope::UsersRead));
        assert!(!reading.allow(Scope::ContactsWrite));
        assert!(Scopes::parse(["users:read", "*"]).unwrap().allow(Scope::MessagesWrite));
        assert!(Scopes::parse(["contacts"]).is_err());
        assert_eq!(Scope::NAMES.len(), Scope::ALL.len() + 1);
    }
}
