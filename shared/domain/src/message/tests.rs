use uuid::Uuid;

use super::*;
use crate::conversation::{ContactRef, External};
use crate::ids::{BrandId, ChannelId, TemplateId};
use crate::media::{FileName, FileType, SentAs};
use crate::message::received::{ReceivedContent, Said};
use crate::settings::template::Requested;

fn id<T>(make: fn(Uuid) -> T, n: u128) -> T {
    make(Uuid::from_u128(n))
}

fn body(text: &str) -> Option<MessageBody> {
    Some(MessageBody::parse(text).unwrap())
}

fn file(file_type: FileType, content_type: &str) -> Attached {
    Attached {
        media: id(MediaId::from_uuid, 1),
        file_type,
        content_type: content_type.to_owned(),
        name: FileName::parse("file").unwrap(),
        size: 1_000,
    }
}

fn image() -> Attached {
    file(FileType::Image, "image/png")
}

fn audio() -> Attached {
    file(FileType::Audio, "audio/ogg")
}

fn written(body: Option<MessageBody>, media: &[Attached]) -> Content {
    Content::Written { body, media: media.to_vec(), broadcast: true }
}

fn external(contact: u128, channel: &str) -> External {
    External {
        contact: id(ContactId::from_uuid, contact),
        shown: ContactRef::Id(id(ContactId::from_uuid, contact)),
        channel: ChannelId::parse(channel).unwrap(),
        brand: BrandId::parse("brand").unwrap(),
        joined_at: Timestamp::from_millis(0),
        last_seen_at: None,
    }
}

fn conversation(status: ConversationStatus) -> Conversation {
    Conversation {
        status,
        externals: vec![external(11, "line-a"), external(12, "line-b")],
        ..Conversation::blank(
            id(ConversationId::from_uuid, 3),
            id(WorkspaceId::from_uuid, 2),
            Timestamp::from_millis(0),
        )
    }
}

fn draft() -> Draft {
    Draft {
        conversation: id(ConversationId::from_uuid, 3),
        body: body("hello"),
        media: vec![],
        broadcast: true,
        reply_to: None,
    }
}

#[test]
fn a_text_is_trimmed_and_has_1_to_4096_characters() {
    assert_eq!(MessageBody::parse(" \n hi there\t ").unwrap().as_str(), "hi there");
    let longest = format!("  {}  ", "é".repeat(4_096));
    assert_eq!(MessageBody::parse(&longest).unwrap().as_str().chars().count(), 4_096);
    assert_eq!(MessageBody::parse(&"é".repeat(4_097)), Err(Unfit::TooLong { max: 4_096 }));
    for blank in ["", "   ", "\n\t"] {
        assert_eq!(MessageBody::parse(blank), Err(Unfit::TooShort { min: 1 }), "{blank:?}");
    }
    assert_eq!(format!("{:?}", MessageBody::parse("my PIN is 1234").unwrap()), "[MessageBody]");
}

#[test]
fn a_text_is_the_first_files_caption_if_it_fits_and_otherwise_comes_before_the_files() {
    let sticker = file(FileType::Sticker, "image/webp");
    let document = file(FileType::Document, "application/pdf");
    type Row<'a> = (&'a str, Option<MessageBody>, Vec<Attached>, &'a [&'a str]);
    let rows: &[Row<'_>] = &[
        ("text alone", body("hello"), vec![], &["text"]),
        ("a file alone", None, vec![image()], &["IMAGE"]),
        ("a file that takes captions", body("hello"), vec![image()], &["IMAGE captioned"]),
        ("a document does", body("hello"), vec![document], &["DOCUMENT captioned"]),
        ("a text at the limit", body(&"é".repeat(1_024)), vec![image()], &["IMAGE captioned"]),
        ("a text over it", body(&"é".repeat(1_025)), vec![image()], &["text", "IMAGE"]),
        ("a sound takes none", body("hello"), vec![audio()], &["text", "AUDIO"]),
        ("nor does a sticker", body("hello"), vec![sticker], &["text", "STICKER"]),
        ("the first file decides", body("hello"), vec![audio(), image()], &["text", "AUDIO", "IMAGE"]),
        ("only it is captioned", body("hello"), vec![image(), image()], &["IMAGE captioned", "IMAGE"]),
        ("files keep their order", None, vec![image(), audio(), image()], &["IMAGE", "AUDIO", "IMAGE"]),
    ];
    for (what, body, media, expected) in rows {
        let content = written(body.clone(), media);
        let shown = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => {
                assert_eq!(Some(*text), body.as_ref(), "{what}");
                "text".to_owned()
            }
            Piece::Media(file, None) => file.file_type.as_str().to_owned(),
            Piece::Media(file, caption) => {
                assert_eq!(*caption, body.as_ref(), "{what}");
                format!("{} captioned", file.file_type.as_str())
            }
            Piece::Template(_) => "template".to_owned(),
        };
        assert_eq!(content.pieces().iter().map(shown).collect::<Vec<_>>(), *expected, "{what}");
    }
}

#[test]
fn a_template_is_one_piece() {
    let template = id(TemplateId::from_uuid, 5);
    let content = Requested { template, parameters: Default::default() };
    let content = TemplateContent::of(content);
    assert_eq!(Content::Template(content.clone()).pieces(), [Piece::Template(&content)]);
}

#[test]
fn each_recipient_gets_every_piece_in_order_and_all_parts_are_queued() {
    let content = written(body("hello"), &[audio(), image()]);
    let to = |contact, channel| Recipient {
        contact: id(ContactId::from_uuid, contact),
        channel: ChannelId::parse(channel).unwrap(),
    };
    let parts = content.parts_for(&[to(12, "line-b"), to(11, "line-a")]);
    let order: Vec<(ContactId, usize)> = parts.iter().map(|part| (part.recipient, part.index)).collect();
    let contact = |n| id(ContactId::from_uuid, n);
    assert_eq!(
        order,
        [
            (contact(12), 0),
            (contact(12), 1),
            (contact(12), 2),
            (contact(11), 0),
            (contact(11), 1),
            (contact(11), 2)
        ]
    );
    for part in parts {
        assert_eq!((part.status, part.provider_message_id, part.error), (MessageStatus::Queued, None, None));
    }
    assert_eq!(content.parts_for(&[]), []);
}

#[test]
fn a_draft_needs_an_existing_conversation_that_is_not_blocked_and_a_reply_target_in_it() {
    use ConversationStatus::{Active, Blocked, Ghost, NotAssignedToHuman, Released};
    let named = id(MessageId::from_uuid, 9);
    let (plain, reply) = (draft(), Draft { reply_to: Some(named), ..draft() });
    let replied = plain.message(named, &conversation(Active), 1, vec![], Timestamp::from_millis(0));
    let unknown_reply = Err(Refused::UnknownReply { message: named });
    let rows = [
        (&plain, None, None, Err(Refused::UnknownConversation)),
        (&reply, None, None, Err(Refused::UnknownConversation)),
        (&plain, Some(Blocked), None, Err(Refused::ConversationBlocked)),
        (&reply, Some(Blocked), None, Err(Refused::ConversationBlocked)),
        (&reply, Some(Active), None, unknown_reply),
        (&reply, Some(Active), Some(&replied), Ok(Active)),
        (&plain, Some(Active), None, Ok(Active)),
        (&plain, Some(Ghost), None, Ok(Ghost)),
        (&plain, Some(Released), None, Ok(Released)),
        (&plain, Some(NotAssignedToHuman), None, Ok(NotAssignedToHuman)),
    ];
    for (at, (draft, status, replied, expected)) in rows.into_iter().enumerate() {
        let found = draft.target(status.map(conversation), replied);
        assert_eq!(found.map(|conversation| conversation.status), expected, "row {at}");
    }
}

#[test]
fn a_message_goes_to_all_customers_and_an_internal_note_to_nobody() {
    let now = Timestamp::from_millis(5);
    let conversation = conversation(ConversationStatus::Active);
    let reply = Draft { reply_to: Some(id(MessageId::from_uuid, 8)), ..draft() };
    let message = reply.message(id(MessageId::from_uuid, 9), &conversation, 4, vec![image()], now);
    let lines: Vec<&str> = message.recipients.iter().map(|to| to.channel.as_str()).collect();
    assert_eq!(lines, ["line-a", "line-b"]);
    assert_eq!(message.parts, message.content.parts_for(&message.recipients));
    assert_eq!(message.parts.len(), 2);
    assert_eq!(
        message,
        Message {
            id: id(MessageId::from_uuid, 9),
            workspace_id: id(WorkspaceId::from_uuid, 2),
            conversation: id(ConversationId::from_uuid, 3),
            seq: 4,
            sent_by: SentBy::Api,
            lead: None,
            content: written(body("hello"), &[image()]),
            reply_to: Some(id(MessageId::from_uuid, 8)),
            recipients: message.recipients.clone(),
            parts: message.parts.clone(),
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    );

    let note = Draft { broadcast: false, ..draft() };
    let note = note.message(id(MessageId::from_uuid, 9), &conversation, 4, vec![], now);
    assert_eq!((&note.recipients[..], &note.parts[..]), (&[][..], &[][..]));
    assert!(!note.is_broadcast());
    assert_eq!(note.status(), MessageStatus::Queued);
}

#[test]
fn a_message_goes_to_customers_unless_it_is_a_note_or_from_one_and_may_have_files() {
    let template = id(TemplateId::from_uuid, 5);
    let template =
        Content::Template(TemplateContent::of(Requested { template, parameters: Default::default() }));
    let received = |what| {
        let (contact, channel) = (id(ContactId::from_uuid, 11), ChannelId::parse("line-a").unwrap());
        Content::Received(Received {
            contact,
            channel,
            provider_message_id: "wamid.1".to_owned(),
            what,
            extras: Default::default(),
        })
    };
    let sent_file = ReceivedContent::File {
        sent_as: SentAs::Image,
        file: Ok(image()),
        caption: None,
        voice: None,
        animated: None,
    };
    let lost_file = ReceivedContent::File {
        sent_as: SentAs::Image,
        file: Err(crate::media::FileMissing::Gone),
        caption: None,
        voice: None,
        animated: None,
    };
    let note = Content::Written { body: None, media: vec![audio()], broadcast: false };
    let rows = [
        (written(body("hi"), &[]), true, vec![]),
        (written(None, &[image(), audio()]), true, vec![image(), audio()]),
        (note, false, vec![audio()]),
        (template, true, vec![]),
        (received(ReceivedContent::Said(Said::text("hi"))), false, vec![]),
        (received(sent_file), false, vec![image()]),
        (received(lost_file), false, vec![]),
    ];
    let conversation = conversation(ConversationStatus::Active);
    let made =
        draft().message(id(MessageId::from_uuid, 9), &conversation, 4, vec![], Timestamp::from_millis(5));
    for (content, goes_out, files) in rows {
        let message = Message { content, ..made.clone() };
        assert_eq!(message.is_broadcast(), goes_out, "{:?}", message.content);
        assert_eq!(message.files(), files.iter().collect::<Vec<_>>(), "{:?}", message.content);
    }
}
