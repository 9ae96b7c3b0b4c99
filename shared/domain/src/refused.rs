//! What the rules refuse, said as values. The edge gives each its status, code and title in one closed table.

use crate::attribute::AttributeType;
use crate::ids::{AttributeId, ClosedValueId, ContactId};

/// A request that was read without fault and may still not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The workspace has no active attribute of that id.
    #[error("no active attribute {attribute}")]
    UnknownAttribute {
        /// The id given.
        attribute: AttributeId,
    },
    /// The content is not of the attribute's type, or the attribute is not OPEN.
    #[error("the content does not fit attribute {attribute}")]
    ContentUnfit {
        /// The attribute.
        attribute: AttributeId,
        /// The type its content must have; absent where the attribute takes values, not content.
        expected: Option<AttributeType>,
    },
    /// The value is not one of the attribute's, or the attribute is not CLOSED.
    #[error("attribute {attribute} has no value {value}")]
    UnknownClosedValue {
        /// The attribute.
        attribute: AttributeId,
        /// The id given.
        value: ClosedValueId,
    },
    /// The owner named is no active internal user of the workspace.
    #[error("the owner is not an active internal user")]
    UnknownOwner,
    /// The e-mail address or phone number belongs to another contact of the workspace.
    #[error("{} belongs to contact {contact}", field.as_str())]
    IdentityTaken {
        /// Which of the two.
        field: IdentityField,
        /// The contact that has it.
        contact: ContactId,
    },
    /// With the update the contact would be larger than a row and its event may be.
    #[error("the contact would be larger than {max_bytes} bytes")]
    ContactTooLarge {
        /// The limit in bytes of UTF-8.
        max_bytes: usize,
    },
}

/// The fields by which a contact is unique within its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityField {
    /// The e-mail address, compared without case.
    Email,
    /// The phone number.
    Cellphone,
}

impl IdentityField {
    /// The API's field name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Cellphone => "cellphone",
        }
    }
}
