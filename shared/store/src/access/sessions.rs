//! Sessions of the portal and the links that start them. They are keys of their own kind.

use std::collections::BTreeSet;

use domain::access::session::Makers;
use domain::{Actor, ApiKey, AuditAction, Author, KeyId, WorkspaceId};

use crate::access::api_keys::{ListedKey, Revoked, key_copy, key_row};
use crate::dynamodb::item::key;
use crate::dynamodb::paging::{Page, PageRequest};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::{Transaction, Write};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// Stores a link under its SHA-256 (lower-case hex). Returns an error if another key has the same hash. One round trip,
    /// 4 write units.
    pub async fn create_link(&self, sha256_hex: &str, link: &ApiKey, by: &Author) -> Result<(), StoreError> {
        let writes = [
            Write::put(Table::ApiKeys, key_row(sha256_hex, link)?).when_absent(),
            self.audit(by, link.workspace_id, AuditAction::PortalLinkCreate, link.id, &[])?,
        ];
        if self.all_or_none(writes).await? {
            return Ok(());
        }
        Err(StoreError::Failed("another key has the same hash".into()))
    }

    /// The keys behind a link. No round trip for a link of an operator, else one of one call.
    pub async fn makers(&self, link: &ApiKey) -> Result<Makers, StoreError> {
        let Some(behind) = keys_behind(link) else { return Ok(Makers { maker: None, root: None }) };
        let [maker, root] = behind.map(|copy| Place::of(Table::ApiKeys, copy));
        let rows = self.rows_at([&maker, &root]).await?;
        let read = |place: &Place| rows.get(place).cloned().map(ListedKey::of).transpose();
        Ok(Makers {
            maker: read(&maker)?.map(|listed| listed.key),
            root: read(&root)?.map(|listed| listed.key),
        })
    }

    /// Stores a session under its SHA-256 (lower-case hex), with its copy, if no key behind it is revoked. A link that starts it, with
    /// its SHA-256, is used thereby. Returns an error if another key has the same hash. One round trip, 6 write units, 2 for a link,
    /// 2 for each of the one or two keys behind the session (an operator's has none).
    pub async fn start_session(
        &self,
        (sha256_hex, session): (&str, &ApiKey),
        by_link: Option<(&str, &ApiKey)>,
        by: &Author,
    ) -> Result<SessionStart, StoreError> {
        let entry = self.audit(by, session.workspace_id, AuditAction::SessionCreate, session.id, &[])?;
        let row = Write::put(Table::ApiKeys, key_row(sha256_hex, session)?).when_absent();
        let mut writes = Transaction::new()
            .with(Starts::Session, row)
            // The id is new, so there is no such row.
            .with(Starts::Session, Write::put(Table::ApiKeys, key_copy(sha256_hex, session)?))
            .with(Starts::Session, entry);
        if let Some((sha256_hex, link)) = by_link {
            let used = Write::put(Table::ApiKeys, key_row(sha256_hex, &link.used(self.now()))?);
            writes.add(Starts::Link, used.when("attribute_not_exists(usedAt)"));
        }
        // A function remembers a key for a while after its revocation. The revocation ends only the sessions that it finds.
        for copy in keys_behind(session).into_iter().flat_map(BTreeSet::from) {
            let is_not_revoked = "attribute_not_exists(revokedAt)";
            writes.add(Starts::Maker, Write::check(Table::ApiKeys, key(copy), is_not_revoked));
        }
        let Err(refusals) = self.transact(writes).await? else { return Ok(SessionStart::Done) };
        match refusals.iter().map(|refusal| refusal.role).max() {
            Some(Starts::Link) => Ok(SessionStart::LinkUsed),
            Some(Starts::Maker) => Ok(SessionStart::MakerRevoked),
            Some(Starts::Session) | None => Err(StoreError::Failed("another key has the same hash".into())),
        }
    }

    /// A page of the workspace's sessions in the order of their ids, with those that ended within the last day. One round trip.
    pub async fn sessions_page(
        &self,
        workspace: WorkspaceId,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Page<ApiKey>, StoreError> {
        self.copies(keys::sessions(workspace), PageRequest { page_size, after }).await
    }

    /// All sessions of the workspace in the order of their ids, with those that ended within the last day. One round trip for each
    /// megabyte.
    pub async fn sessions(&self, workspace: WorkspaceId) -> Result<Vec<ApiKey>, StoreError> {
        self.partition(Table::ApiKeys, keys::sessions(workspace)).await
    }

    /// A session of the workspace by its id. One round trip.
    pub async fn listed_session(
        &self,
        workspace: WorkspaceId,
        id: KeyId,
    ) -> Result<Option<ListedKey>, StoreError> {
        let copy = self.get_item(Table::ApiKeys, keys::session_copy(workspace, id)).await?;
        copy.map(ListedKey::of).transpose()
    }

    /// Ends a session by its id. The table refuses it at once; a function that has it in memory refuses it within 30 s. Two round
    /// trips, 6 write units.
    pub async fn end_session(
        &self,
        workspace: WorkspaceId,
        id: KeyId,
        by: &Author,
    ) -> Result<Revoked, StoreError> {
        self.revoke(keys::session_copy(workspace, id), AuditAction::SessionRevoke, by).await
    }

    /// Ends all sessions of the workspace, or those that began with a key: by itself, by its links, and by links of its sessions.
    /// Returns how many were ended. One round trip, and one for each session; more if others change it at the same time.
    pub async fn end_sessions(
        &self,
        workspace: WorkspaceId,
        of: Option<KeyId>,
        by: &Author,
    ) -> Result<usize, StoreError> {
        let copies = self.query_all(Query::of(Table::ApiKeys, keys::sessions(workspace))).await?;
        let mut ended = 0;
        for copy in copies {
            let listed = ListedKey::of(copy)?;
            let session = &listed.key;
            let is_meant = session.is_good(self.now()) && of.is_none_or(|key| session.bucket == key);
            let Some(next) = session.revoked(self.now()).filter(|_| is_meant) else { continue };
            let is_done = self.replace_listed_key(&listed, &next, AuditAction::SessionRevoke, by).await?
                || self.end_session(workspace, session.id, by).await? == Revoked::Done;
            ended += usize::from(is_done);
        }
        Ok(ended)
    }
}

/// The result of [`Store::start_session`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStart {
    /// The session is stored.
    Done,
    /// The link was used before. Nothing was stored.
    LinkUsed,
    /// A key behind the session is revoked. Nothing was stored.
    MakerRevoked,
}

/// What a write of the transaction is about. If the conditions of several do not hold, the last one is the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Starts {
    Session,
    Maker,
    Link,
}

/// The places of the copies of the maker of this link or session, and of the key that the chain of its makers began with. They can be
/// the same. `None` if the maker is an operator.
fn keys_behind(key: &ApiKey) -> Option<[(String, String); 2]> {
    let workspace = key.workspace_id;
    let maker = match key.created_by {
        Actor::Key(id) => keys::api_key_copy(workspace, id),
        Actor::Session { id, .. } => keys::session_copy(workspace, id),
        Actor::Operator(_) => return None,
    };
    Some([maker, keys::api_key_copy(workspace, key.bucket)])
}
