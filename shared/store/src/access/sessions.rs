//! Sessions of the portal and the links that start them. They are keys of their own kind.

use domain::access::session::Makers;
use domain::{Actor, ApiKey, AuditAction, Author, KeyId, WorkspaceId};

use crate::access::api_keys::{ListedKey, Revoked, key_copy, key_row};
use crate::dynamodb::paging::{Page, PageRequest};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::Write;
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
        let workspace = link.workspace_id;
        let maker = match link.created_by {
            Actor::Key(id) => keys::api_key_copy(workspace, id),
            Actor::Session { id, .. } => keys::session_copy(workspace, id),
            Actor::Operator(_) => return Ok(Makers { maker: None, root: None }),
        };
        let maker = Place::of(Table::ApiKeys, maker);
        let root = Place::of(Table::ApiKeys, keys::api_key_copy(workspace, link.bucket));
        let rows = self.rows_at([&maker, &root]).await?;
        let read = |place: &Place| rows.get(place).cloned().map(ListedKey::of).transpose();
        Ok(Makers {
            maker: read(&maker)?.map(|listed| listed.key),
            root: read(&root)?.map(|listed| listed.key),
        })
    }

    /// Stores a session under its SHA-256 (lower-case hex), with its copy. Returns an error if another key has the same hash. One
    /// round trip, 6 write units.
    pub async fn start_session(
        &self,
        sha256_hex: &str,
        session: &ApiKey,
        by: &Author,
    ) -> Result<(), StoreError> {
        if self.all_or_none(self.of_session(sha256_hex, session, by)?).await? {
            return Ok(());
        }
        Err(StoreError::Failed("another key has the same hash".into()))
    }

    /// The same by a link with this SHA-256, which is used thereby. Returns `false` if it was used before. One round trip, 8 write
    /// units.
    pub async fn start_session_by(
        &self,
        (link_sha256_hex, link): (&str, &ApiKey),
        sha256_hex: &str,
        session: &ApiKey,
        by: &Author,
    ) -> Result<bool, StoreError> {
        let used = Write::put(Table::ApiKeys, key_row(link_sha256_hex, &link.used(self.now()))?)
            .when("attribute_not_exists(usedAt)");
        let [row, copy, entry] = self.of_session(sha256_hex, session, by)?;
        self.all_or_none([used, row, copy, entry]).await
    }

    fn of_session(&self, sha256_hex: &str, session: &ApiKey, by: &Author) -> Result<[Write; 3], StoreError> {
        Ok([
            Write::put(Table::ApiKeys, key_row(sha256_hex, session)?).when_absent(),
            // The id is new, so there is no such row.
            Write::put(Table::ApiKeys, key_copy(sha256_hex, session)?),
            self.audit(by, session.workspace_id, AuditAction::SessionCreate, session.id, &[])?,
        ])
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
