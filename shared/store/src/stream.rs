//! The rows in the records of a table's stream.

pub(crate) mod feed;

use std::collections::HashMap;

use domain::contact::conflict::Conflict;
use domain::settings::reported::{AccountReport, LineState};
use domain::{
    Choices, Contact, ContactId, Conversation, ConversationId, LaneId, Lead, MediaId, Message, Template,
    Timestamp, WebhookEndpoint, WorkspaceId,
};

use crate::contacts::choices::{KIND as CHOICES, choices};
use crate::contacts::conflicts::{KIND as CONFLICT, conflict};
use crate::contacts::row::{MERGED, contact, merged};
use crate::conversations::row::conversation;
use crate::dynamodb::item::{Item, PK, read, text};
use crate::dynamodb::write::{LAST_REQUEST, request_of};
use crate::lanes::lead::lead;
use crate::lanes::person::{ERASURE, MERGE, asked};
use crate::messages::row::message;
use crate::settings::reported::{ACCOUNT_REPORT, LINE_STATE};
use crate::settings::templates::TEMPLATE;
use crate::webhooks::endpoints::KIND as ENDPOINT;
use crate::{StoreError, keys};

/// The row of an image, if its changes matter to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// The row of a contact.
    Contact(Contact),
    /// The row of a conflict.
    Conflict(Conflict),
    /// The row of a conversation.
    Conversation(Conversation),
    /// The row of a message.
    Message(Message),
    /// The onboarding plan of this conversation.
    Plan(WorkspaceId, ConversationId),
    /// The row of a lead.
    Lead(Box<Lead>),
    /// A choice about templates.
    Choices(Box<Choices>),
    /// A file that was created for upload.
    Media(WorkspaceId, MediaId),
    /// A job about a person that nobody has begun.
    Asked(LaneId),
    /// The row of a webhook endpoint.
    Endpoint(Box<WebhookEndpoint>),
    /// What the provider says about a line.
    LineState(Box<LineState>),
    /// What the provider says about a business account.
    AccountReport(Box<AccountReport>),
    /// The row of a message template.
    Template(Box<Template>),
    /// What is left of a contact that became part of this one, and when it did.
    Merged(ContactId, Timestamp),
}

impl Image {
    /// Reads an image. Returns `None` for helper rows and for an empty image.
    ///
    /// Versions distinguish changes that are shown to clients from all other writes: each such change raises
    /// the version by one.
    pub fn read(image: serde_dynamo::Item) -> Result<Option<Self>, StoreError> {
        let item: Item = HashMap::from(image);
        let named = |ids: Option<Self>| {
            let unreadable = || StoreError::Unreadable {
                key: "of a stream record".to_owned(),
                reason: "its key is not one of ours".to_owned(),
            };
            ids.map(Some).ok_or_else(unreadable)
        };
        match text(&item, "kind") {
            "contact" => Ok(contact(item)?.map(Self::Contact)),
            MERGED => merged(item).map(|(survivor, at)| Some(Self::Merged(survivor, at))),
            CONFLICT => Ok(Some(Self::Conflict(conflict(item)?))),
            "conversation" => Ok(Some(Self::Conversation(conversation(item)?))),
            "message" => Ok(Some(Self::Message(message(item)?))),
            "lead" => Ok(Some(Self::Lead(Box::new(lead(item)?)))),
            ERASURE | MERGE => Ok(asked(item)?.map(Self::Asked)),
            TEMPLATE => Ok(Some(Self::Template(Box::new(read(item)?)))),
            ENDPOINT => Ok(Some(Self::Endpoint(Box::new(read(item)?)))),
            LINE_STATE => Ok(Some(Self::LineState(Box::new(read(item)?)))),
            ACCOUNT_REPORT => Ok(Some(Self::AccountReport(Box::new(read(item)?)))),
            CHOICES => Ok(Some(Self::Choices(Box::new(choices(item)?)))),
            "plan" => {
                named(keys::read_messages(text(&item, PK)).map(|(workspace, of)| Self::Plan(workspace, of)))
            }
            "media" => {
                named(keys::read_media(text(&item, PK)).map(|(workspace, of)| Self::Media(workspace, of)))
            }
            _ => Ok(None),
        }
    }

    /// The API request that wrote the row of this image, if one did.
    pub fn request(image: &serde_dynamo::Item) -> Option<&str> {
        match image.get(LAST_REQUEST) {
            Some(serde_dynamo::AttributeValue::S(write_id)) => request_of(write_id),
            _ => None,
        }
    }
}
