//! Why the workspace does not have the file of a customer's message.

use crate::words::words;

/// Why a message has no file although the customer sent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileMissing {
    /// The file is over the size limit of its type.
    TooLarge,
    /// The bytes are not those that the provider announced.
    WrongDigest,
    /// The provider does not have the file any more.
    Gone,
    /// The provider named a place for the file to which the service does not connect.
    Refused,
    /// The line has no token for the provider.
    NoToken,
    /// The provider did not give the file in time.
    Unavailable,
}

words!(
    /// The names of the reasons in rows and in the payload of a message.
    FileMissing {
        TooLarge: "TOO_LARGE",
        WrongDigest: "WRONG_DIGEST",
        Gone: "GONE",
        Refused: "REFUSED",
        NoToken: "NO_TOKEN",
        Unavailable: "UNAVAILABLE",
    }
);
