//! The bucket's notification of an upload, as its queue delivers it.

use serde::Deserialize;

use crate::Unreadable;

/// An object that was written into the bucket.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Upload {
    /// The object's key.
    pub key: String,
    /// The object's size in bytes.
    pub size: u64,
}

/// Reads the uploads that a message names. The message that S3 sends when notifications are set up names none.
pub fn read_uploads(body: &str) -> Result<Vec<Upload>, Unreadable> {
    let notification: Notification = serde_json::from_str(body).map_err(|_| Unreadable)?;
    match notification {
        Notification { records: Some(records), .. } => {
            Ok(records.into_iter().map(|record| record.s3.object).collect())
        }
        Notification { event: Some(event), .. } if event == "s3:TestEvent" => Ok(vec![]),
        Notification { .. } => Err(Unreadable),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notification {
    records: Option<Vec<Record>>,
    event: Option<String>,
}

#[derive(Deserialize)]
struct Record {
    s3: S3Entity,
}

#[derive(Deserialize)]
struct S3Entity {
    object: Upload,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_names_its_objects_and_the_message_of_the_setup_names_none() {
        let upload = |key: &str, size| Upload { key: key.to_owned(), size };
        let two = r#"{"Records": [
            {"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "w/a", "size": 7, "eTag": "e"}}},
            {"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "w/b", "size": 0}}}
        ]}"#;
        let rows = [
            (two, Ok(vec![upload("w/a", 7), upload("w/b", 0)])),
            (r#"{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"}"#, Ok(vec![])),
            (r#"{"Service": "Amazon S3", "Event": "s3:OtherEvent"}"#, Err(Unreadable)),
            (r#"{"Records": [{"s3": {"object": {"key": "w/a"}}}]}"#, Err(Unreadable)),
            (r#"{"lane": "lead"}"#, Err(Unreadable)),
            ("not JSON", Err(Unreadable)),
        ];
        for (body, expected) in rows {
            assert_eq!(read_uploads(body), expected, "{body}");
        }
    }
}
