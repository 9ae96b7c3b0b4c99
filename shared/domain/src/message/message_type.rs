//! What a message is, as the API names it.

use crate::words::words;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// Text without files.
    Text,
    /// Files to customers, with or without a text.
    Media,
    /// A template.
    Template,
    /// A customer's image.
    Image,
    /// A customer's recording or sound.
    Audio,
    /// A customer's video.
    Video,
    /// A customer's file of another kind.
    Document,
    /// A customer's sticker.
    Sticker,
    /// A customer's place.
    Location,
    /// Cards of people that a customer sent.
    Contacts,
    /// The reply to a button of a template.
    ButtonReply,
    /// The reply to a button or a list of an interactive message.
    InteractiveReply,
    /// A reaction to a message, or its removal.
    Reaction,
    /// The answer of a Flow.
    FlowReply,
    /// An order of products.
    Order,
    /// Whether the business may call the customer.
    CallPermissionReply,
    /// A message that the provider does not pass on, or of a kind that this release does not know.
    Unsupported,
}

words!(
    /// The names of the types.
    MessageType {
        Text: "TEXT",
        Media: "MEDIA",
        Template: "TEMPLATE",
        Image: "IMAGE",
        Audio: "AUDIO",
        Video: "VIDEO",
        Document: "DOCUMENT",
        Sticker: "STICKER",
        Location: "LOCATION",
        Contacts: "CONTACTS",
        ButtonReply: "BUTTON_REPLY",
        InteractiveReply: "INTERACTIVE_REPLY",
        Reaction: "REACTION",
        FlowReply: "FLOW_REPLY",
        Order: "ORDER",
        CallPermissionReply: "CALL_PERMISSION_REPLY",
        Unsupported: "UNSUPPORTED",
    }
);

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::conversation::Conversation;
    use crate::ids::{ConversationId, MediaId, MessageId, TemplateId, WorkspaceId};
    use crate::media::{Attached, FileName, FileType};
    use crate::message::{Content, Draft, Message, MessageBody};
    use crate::settings::template::{Requested, TemplateContent};
    use crate::time::Timestamp;

    #[test]
    fn a_message_is_of_the_type_of_its_content() {
        let at = Timestamp::from_millis(0);
        let (one, two) = (ConversationId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
        let conversation = Conversation::blank(one, two, at);
        let body = MessageBody::parse("Hello").ok();
        let draft =
            Draft { conversation: one, body: body.clone(), media: vec![], broadcast: true, reply_to: None };
        let said = draft.message(MessageId::from_uuid(Uuid::nil()), &conversation, 1, vec![], at);
        let file = Attached {
            media: MediaId::from_uuid(Uuid::nil()),
            file_type: FileType::Image,
            content_type: "image/png".to_owned(),
            name: FileName::parse("a.png").unwrap(),
            size: 1,
        };
        let written = |body, media, broadcast| Content::Written { body, media, broadcast };
        let template =
            Requested { template: TemplateId::from_uuid(Uuid::nil()), parameters: Default::default() };
        for (content, expected) in [
            (written(body.clone(), vec![], true), MessageType::Text),
            (written(body.clone(), vec![], false), MessageType::Text),
            (written(body, vec![file.clone()], true), MessageType::Media),
            (written(None, vec![file], false), MessageType::Media),
            (Content::Template(TemplateContent::of(template)), MessageType::Template),
        ] {
            assert_eq!(Message { content, ..said.clone() }.message_type(), expected);
        }
    }
}
