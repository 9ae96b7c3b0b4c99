//! A file of a message in its row.

use domain::media::{Attached, FileName};
use domain::{FileType, MediaId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Attached", rename_all = "camelCase")]
pub(super) struct AttachedField {
    #[serde(rename = "mediaId", with = "fields::text")]
    media: MediaId,
    #[serde(with = "fields::text")]
    file_type: FileType,
    content_type: String,
    #[serde(with = "fields::text")]
    name: FileName,
    size: u64,
}

stored! { Attached = AttachedField }
