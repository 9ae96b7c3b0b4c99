//! Webhooks of the Cloud API: how one is divided into pieces for a queue, and what a piece says.

mod pieces;
mod read;
mod repair;

pub use pieces::{Division, MAX_ID, OtherProduct, Piece, divide};
pub use read::{
    About, AccountEvent, Content, Customer, Incoming, Item, LineName, MediaFile, Preference, Status,
    StatusKind, Subject, TEMPLATE_REFUSED, TemplateEvent, TemplateNews, only, read, unmapped,
};
