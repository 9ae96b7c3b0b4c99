//! A file of a message in its row.

use domain::media::{Attached, FileName};
use domain::{FileType, MediaId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachedField {
    #[serde(with = "fields::text")]
    media_id: MediaId,
    #[serde(with = "fields::text")]
    file_type: FileType,
    content_type: String,
    #[serde(with = "fields::text")]
    name: FileName,
    size: u64,
}

impl From<&Attached> for AttachedField {
    fn from(file: &Attached) -> Self {
        Self {
            media_id: file.media,
            file_type: file.file_type,
            content_type: file.content_type.clone(),
            name: file.name.clone(),
            size: file.size,
        }
    }
}

impl From<AttachedField> for Attached {
    fn from(field: AttachedField) -> Self {
        Self {
            media: field.media_id,
            file_type: field.file_type,
            content_type: field.content_type,
            name: field.name,
            size: field.size,
        }
    }
}
