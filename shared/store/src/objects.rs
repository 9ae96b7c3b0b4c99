//! The objects of S3 buckets.

use aws_sdk_s3::Client;

use crate::StoreError;

/// The bytes of an object; `None` if it does not exist. One round trip.
pub(crate) async fn object_bytes(
    s3: &Client,
    bucket: &str,
    key: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let object = match s3.get_object().bucket(bucket).key(key).send().await {
        Ok(object) => object,
        Err(error) if error.as_service_error().is_some_and(|error| error.is_no_such_key()) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let bytes = object.body.collect().await.map_err(|error| StoreError::Busy(Box::new(error)))?;
    Ok(Some(bytes.to_vec()))
}
