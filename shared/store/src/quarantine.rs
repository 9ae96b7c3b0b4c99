//! What of the provider's webhooks could not be processed: objects of the failure bucket, beside those of the relay.
//!
//! ```text
//! inbound/<app>/<day of the receipt>/<SHA-256 of the bytes>
//! ```
//!
//! The key makes one object of all repeats. The bytes are a webhook, which the same code can divide again.

use domain::encoding::sha256_hex;
use domain::inbound::quarantine::QuarantineReason;
use domain::{ProviderAppId, Timestamp};

use crate::StoreError;
use crate::failures::FailureBucket;
use crate::objects::object_bytes;

const RECEIVED_AT: &str = "received-at";
const REASON: &str = "reason";
/// Only bytes that an app signed are kept. An operator sees it without knowledge of the code.
const SIGNATURE: (&str, &str) = ("signature", "verified");

/// What is known of a webhook in quarantine without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Names it: `<app>/<day>/<digest>`.
    pub id: String,
    /// The app that signed it.
    pub app: ProviderAppId,
    /// When the service received it.
    pub received_at: Timestamp,
    /// Why it is here.
    pub reason: QuarantineReason,
    /// Its size in bytes.
    pub bytes: u64,
}

impl FailureBucket {
    /// Keeps a webhook with one item, or a whole one. One round trip.
    pub async fn quarantine(
        &self,
        app: &ProviderAppId,
        received_at: Timestamp,
        reason: QuarantineReason,
        webhook: Vec<u8>,
    ) -> Result<(), StoreError> {
        let (received_at, digest) = (received_at.to_string(), sha256_hex(&webhook));
        let day = received_at.split('T').next().unwrap_or_default();
        let key = format!("{}{}/{day}/{digest}", Self::INBOUND, app.as_str());
        let put = self.s3.put_object().bucket(&*self.name).key(key).body(webhook.into());
        let put = put.metadata(RECEIVED_AT, &received_at).metadata(REASON, reason.as_str());
        put.metadata(SIGNATURE.0, SIGNATURE.1).send().await?;
        Ok(())
    }

    /// Everything in quarantine, newest first. One round trip for each thousand, and one for each object.
    pub async fn quarantined(&self) -> Result<Vec<Quarantined>, StoreError> {
        let mut found = vec![];
        for object in self.list(Self::INBOUND).await? {
            let id = object.key.strip_prefix(Self::INBOUND).unwrap_or_default();
            found.extend(self.quarantined_one(id).await?);
        }
        found.sort_by(|one: &Quarantined, other| {
            (other.received_at, &other.id).cmp(&(one.received_at, &one.id))
        });
        Ok(found)
    }

    /// One webhook in quarantine; `None` if there is none with this id, or its object was not written by the service. One
    /// round trip.
    pub async fn quarantined_one(&self, id: &str) -> Result<Option<Quarantined>, StoreError> {
        let head = match self.s3.head_object().bucket(&*self.name).key(key_of(id)).send().await {
            Ok(head) => head,
            Err(error) if error.as_service_error().is_some_and(|error| error.is_not_found()) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let written = |name| head.metadata.as_ref().and_then(|all| all.get(name)).map(String::as_str);
        let app = id.split('/').next().and_then(|app| ProviderAppId::parse(app).ok());
        let received_at = written(RECEIVED_AT).and_then(Timestamp::parse);
        let reason = written(REASON).and_then(|reason| QuarantineReason::parse(reason).ok());
        let bytes = head.content_length.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        let (Some(app), Some(received_at), Some(reason)) = (app, received_at, reason) else {
            return Ok(None);
        };
        Ok(Some(Quarantined { id: id.to_owned(), app, received_at, reason, bytes }))
    }

    /// The bytes of a webhook in quarantine; `None` if there is none with this id. One round trip.
    pub async fn quarantined_bytes(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        object_bytes(&self.s3, &self.name, &key_of(id)).await
    }

    /// Deletes a webhook in quarantine, if it exists. One round trip.
    pub async fn end_quarantine(&self, id: &str) -> Result<(), StoreError> {
        self.delete(&key_of(id)).await
    }
}

fn key_of(id: &str) -> String {
    format!("{}{id}", FailureBucket::INBOUND)
}
