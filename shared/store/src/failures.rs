//! The bucket in which Lambda stores the records that the relay could not process. [`crate::quarantine`] has the other objects.

use std::sync::Arc;

use aws_sdk_s3::Client;
use domain::Timestamp;

use crate::StoreError;
use crate::objects::object_bytes;

/// The failure bucket of one deployment.
#[derive(Clone)]
pub struct FailureBucket {
    pub(crate) s3: Client,
    pub(crate) name: Arc<str>,
}

/// An object in the failure bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The key: `aws/lambda/<mapping>/<shard>/<year>/<month>/<day>/<moment>-<random>`.
    pub key: String,
    /// When the object was written.
    pub at: Timestamp,
}

impl FailureBucket {
    /// The beginning of the keys of records that the relay could not process.
    pub const RECORDS: &str = "aws/lambda/";
    /// The beginning of the keys of webhooks of the provider in quarantine.
    pub const INBOUND: &str = "inbound/";

    /// The bucket with this name.
    pub fn new(s3: Client, name: impl Into<Arc<str>>) -> Self {
        Self { s3, name: name.into() }
    }

    /// The objects whose keys have this prefix, sorted by key, which for each shard is the order of time. One
    /// round trip for each thousand.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Failure>, StoreError> {
        let (mut found, mut from) = (vec![], None);
        loop {
            let list = self.s3.list_objects_v2().bucket(&*self.name).prefix(prefix);
            let page = list.set_continuation_token(from).send().await?;
            found.extend(page.contents.unwrap_or_default().into_iter().filter_map(|object| {
                let at = object.last_modified.and_then(|at| at.to_millis().ok()).unwrap_or_default();
                Some(Failure { key: object.key?, at: Timestamp::from_millis(at) })
            }));
            from = page.next_continuation_token;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    /// The bytes of an object; `None` if it does not exist. One round trip.
    pub async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        object_bytes(&self.s3, &self.name, key).await
    }

    /// Replaces the bytes of an object. One round trip.
    pub async fn write(&self, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.s3.put_object().bucket(&*self.name).key(key).body(bytes.into()).send().await?;
        Ok(())
    }

    /// Deletes an object, if it exists. One round trip.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.s3.delete_object().bucket(&*self.name).key(key).send().await?;
        Ok(())
    }
}

/// The bucket that CloudFormation created for the resource `logical` of a stack, if exactly one bucket of the
/// account has a name of the form `<stack>-<resource>-<random>` in lower case. One round trip for each page
/// of the account's buckets.
pub async fn bucket_of_stack(s3: &Client, stack: &str, logical: &str) -> Result<Option<String>, StoreError> {
    let prefix = format!("{stack}-{logical}-").to_lowercase();
    let (mut found, mut from) = (vec![], None);
    loop {
        let page = s3.list_buckets().prefix(&prefix).set_continuation_token(from).send().await?;
        let names = page.buckets.unwrap_or_default().into_iter().filter_map(|bucket| bucket.name);
        found.extend(names.filter(|name| name.starts_with(&prefix)));
        from = page.continuation_token;
        if from.is_none() {
            break;
        }
    }
    Ok(if found.len() == 1 { found.pop() } else { None })
}
