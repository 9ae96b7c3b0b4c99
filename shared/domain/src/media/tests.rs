use uuid::Uuid;

use super::*;
use crate::media::file_type::{KB, MB};

const DIGEST: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

fn name(text: &str) -> FileName {
    FileName::parse(text).unwrap()
}

#[test]
fn each_type_has_its_rule() {
    assert_eq!(RULES.len(), FileType::ALL.len());
    for (rule, file_type) in RULES.iter().zip(FileType::ALL) {
        assert_eq!(rule.file_type, file_type);
        assert_eq!(FileType::parse(file_type.as_str()), Ok(file_type));
    }
    for word in ["image", "PICTURE", ""] {
        assert_eq!(FileType::parse(word), Err(Unfit::NotOneOf { expected: FileType::NAMES }), "{word:?}");
    }
}

/// The specification's table, followed by the rows that the decisions add.
const SPECIFIED: &[(FileType, &str, &str, u64)] = &[
    (FileType::Image, ".jpeg", "image/jpeg", 16_777_216),
    (FileType::Image, ".jpg", "image/jpeg", 16_777_216),
    (FileType::Image, ".png", "image/png", 16_777_216),
    (FileType::Image, ".webp", "image/webp", 16_777_216),
    (FileType::Gif, ".gif", "image/gif", 3_145_728),
    (FileType::Gif, ".mp4", "video/mp4", 3_145_728),
    (FileType::Video, ".avi", "video/x-msvideo", 67_108_864),
    (FileType::Video, ".mov", "video/quicktime", 67_108_864),
    (FileType::Video, ".mp4", "video/mp4", 67_108_864),
    (FileType::Audio, ".m4a", "audio/mp4", 16_777_216),
    (FileType::Audio, ".mp3", "audio/mpeg", 16_777_216),
    (FileType::Audio, ".ogg", "audio/ogg", 16_777_216),
    (FileType::Audio, ".wav", "audio/wav", 16_777_216),
    (FileType::Document, ".doc", "application/msword", 104_857_600),
    (
        FileType::Document,
        ".docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        104_857_600,
    ),
    (FileType::Document, ".ppt", "application/vnd.ms-powerpoint", 104_857_600),
    (
        FileType::Document,
        ".pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        104_857_600,
    ),
    (FileType::Document, ".txt", "text/plain", 104_857_600),
    (FileType::Document, ".xls", "application/vnd.ms-excel", 104_857_600),
    (
        FileType::Document,
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        104_857_600,
    ),
    (FileType::Document, ".pdf", "application/pdf", 104_857_600),
    (FileType::Sticker, ".webp", "image/webp", 512_000),
];

#[test]
fn only_the_combinations_of_the_specification_are_valid() {
    let formats: usize = RULES.iter().map(|rule| rule.formats.len()).sum();
    assert_eq!(formats, SPECIFIED.len());
    for file_type in FileType::ALL {
        for (_, extension, _, _) in SPECIFIED {
            for (_, _, content_type, _) in SPECIFIED {
                let row = SPECIFIED.iter().find(|(known_type, known_extension, known_content, _)| {
                    (known_type, known_extension, known_content) == (&file_type, extension, content_type)
                });
                let file = name(&format!("file{extension}"));
                let found = file_type.format(&file, content_type).ok();
                assert_eq!(found, row.map(|row| row.2), "{file_type:?} {extension} {content_type}");
                if let Some((_, _, _, max_bytes)) = row {
                    assert_eq!(file_type.max_bytes(), *max_bytes, "{file_type:?}");
                }
            }
        }
    }
}

#[test]
fn extensions_and_content_types_are_compared_regardless_of_case_and_types_without_parameters() {
    let jpeg = "image/jpeg";
    for (file, content_type, fits) in [
        ("a.jpg", "image/jpeg", true),
        ("a.JPG", "Image/JPEG", true),
        ("a.b.c.JpEg", "image/jpeg", true),
        ("a.jpg", "image/jpeg; q=1", false),
        ("a.jpg", " image/jpeg", false),
        ("a.jpg", "", false),
        ("a.jpg ", "image/jpeg", false),
        ("jpg", "image/jpeg", false),
        (".jpg", "image/jpeg", false),
        ("a.", "image/jpeg", false),
    ] {
        let found = FileType::Image.format(&name(file), content_type).ok();
        assert_eq!(found, fits.then_some(jpeg), "{file:?} {content_type:?}");
    }
}

#[test]
fn a_mismatch_lists_the_valid_values() {
    let extension = |expected: &[&'static str]| Mismatch::Extension { expected: expected.to_vec() };
    let content_type = |expected: &[&'static str]| Mismatch::ContentType { expected: expected.to_vec() };
    let rows: &[(FileType, &str, &str, Vec<Mismatch>)] = &[
        (FileType::Gif, "a.png", "image/gif", vec![extension(&[".gif", ".mp4"])]),
        (FileType::Gif, "a.gif", "video/mp4", vec![content_type(&["image/gif"])]),
        (FileType::Image, "a.jpg", "image/tiff", vec![content_type(&["image/jpeg"])]),
        (
            FileType::Image,
            "a.tif",
            "image/tiff",
            vec![
                extension(&[".jpeg", ".jpg", ".png", ".webp"]),
                content_type(&["image/jpeg", "image/png", "image/webp"]),
            ],
        ),
        (FileType::Sticker, "a.webp", "image/png", vec![content_type(&["image/webp"])]),
    ];
    for (file_type, file, content_type, expected) in rows {
        assert_eq!(file_type.format(&name(file), content_type), Err(expected.clone()), "{file}");
    }
}

#[test]
fn a_file_name_has_1_to_255_characters_and_no_path() {
    assert_eq!(name(&"é".repeat(255)).as_str().chars().count(), 255);
    assert_eq!(FileName::parse(&"é".repeat(256)), Err(Unfit::TooLong { max: 255 }));
    assert_eq!(FileName::parse(""), Err(Unfit::TooShort { min: 1 }));
    for bad in ["/a.png", "a/b.png", "..\\a.png", "a\\"] {
        assert!(matches!(FileName::parse(bad), Err(Unfit::Value { .. })), "{bad}");
    }
    for good in ["a b.png", "..png", "año (1).png", "a.png"] {
        assert!(FileName::parse(good).is_ok(), "{good}");
    }
    assert_eq!(format!("{:?}", name("Ana's passport.pdf")), "[FileName]");
}

#[test]
fn a_digest_is_the_canonical_base64_of_32_bytes() {
    assert_eq!(MediaDigest::parse(DIGEST).unwrap().as_str(), DIGEST);
    let zeros = format!("{}=", "A".repeat(43));
    assert!(MediaDigest::parse(&zeros).is_ok());
    for (what, bad) in [
        ("empty", String::new()),
        ("only filling", "=".into()),
        ("31 bytes", format!("{}==", "A".repeat(42))),
        ("33 bytes", "A".repeat(44)),
        ("a digit less", format!("{}=", "A".repeat(42))),
        ("a digit more", format!("{}=", "A".repeat(44))),
        ("without filling", DIGEST.trim_end_matches('=').to_owned()),
        ("filled twice", format!("{DIGEST}=")),
        ("bits behind the end", format!("{}B=", "A".repeat(42))),
        ("the alphabet of URLs", DIGEST.replace('+', "-").replace('/', "_")),
        ("white space", format!("{DIGEST} ")),
        ("hexadecimal", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into()),
        ("not ASCII", format!("{}é=", "A".repeat(42))),
    ] {
        assert_eq!(
            MediaDigest::parse(&bad),
            Err(Unfit::Shape { pattern: MediaDigest::PATTERN, form: MediaDigest::FORM }),
            "{what}"
        );
    }
}

fn media(file_type: FileType) -> Media {
    let id = Uuid::from_u128(1);
    Media {
        id: MediaId::from_uuid(id),
        workspace_id: WorkspaceId::from_uuid(id),
        file_type,
        content_type: "image/png".to_owned(),
        name: name("a.png"),
        digest: MediaDigest::parse(DIGEST).unwrap(),
        size: None,
        created_at: Timestamp::from_millis(0),
        state: MediaState::Waiting,
        expires_at: None,
    }
}

#[test]
fn an_uploaded_file_must_exist_within_its_limit_and_with_its_digest() {
    let media = media(FileType::Gif);
    let own = Some(media.digest.clone());
    let other = MediaDigest::parse(&format!("{}=", "A".repeat(43))).ok();
    let unfit = |reason| Err(Refused::MediaUnfit { media: media.id, reason });
    let too_large = || unfit(MediaFault::TooLarge { max_bytes: 3_145_728 });
    for (what, uploaded, expected) in [
        ("nothing", None, Err(Refused::UnknownMedia { media: media.id })),
        ("at the limit", Some((3_145_728, own.clone())), Ok(3_145_728)),
        ("of one byte", Some((1, own.clone())), Ok(1)),
        ("empty", Some((0, own.clone())), unfit(MediaFault::Empty)),
        ("over the limit", Some((3_145_729, own)), too_large()),
        ("over the limit and other", Some((3_145_729, other.clone())), too_large()),
        ("other", Some((1, other)), unfit(MediaFault::OtherDigest)),
        ("without a digest", Some((1, None)), unfit(MediaFault::OtherDigest)),
    ] {
        let uploaded = uploaded.map(|(size, digest)| Uploaded { size, digest });
        assert_eq!(media.check(uploaded.as_ref()), expected, "{what}");
    }
}

#[test]
fn whatsapp_accepts_some_types_and_gets_the_rest_as_documents() {
    use FileType::{Audio, Document, Gif, Image, Sticker, Video};
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let rows: &[(FileType, &str, u64, SentAs, bool)] = &[
        (Image, "image/jpeg", 5 * MB, SentAs::Image, true),
        (Image, "image/jpeg", 5 * MB + 1, SentAs::Document, true),
        (Image, "image/png", 5 * MB, SentAs::Image, true),
        (Image, "image/png", 16 * MB, SentAs::Document, true),
        (Image, "image/webp", 1, SentAs::Document, true),
        (Sticker, "image/webp", 500 * KB, SentAs::Sticker, false),
        (Video, "video/mp4", 16 * MB, SentAs::Video, true),
        (Video, "video/mp4", 16 * MB + 1, SentAs::Document, true),
        (Video, "video/x-msvideo", 1, SentAs::Document, true),
        (Video, "video/quicktime", 1, SentAs::Document, true),
        (Gif, "image/gif", 1, SentAs::Document, true),
        (Gif, "video/mp4", 3 * MB, SentAs::Video, true),
        (Audio, "audio/mp4", 16 * MB, SentAs::Audio, false),
        (Audio, "audio/mpeg", 16 * MB, SentAs::Audio, false),
        (Audio, "audio/ogg", 16 * MB, SentAs::Audio, false),
        (Audio, "audio/wav", 1, SentAs::Document, true),
        (Document, "application/pdf", 100 * MB, SentAs::Document, true),
        (Document, docx, 1, SentAs::Document, true),
        (Document, "text/plain", 1, SentAs::Document, true),
    ];
    for (file_type, content_type, size, sent_as, caption) in rows {
        let file = Media { content_type: (*content_type).to_owned(), ..media(*file_type) }.attached(*size);
        assert_eq!(file.sent_as(), *sent_as, "{file_type:?} {content_type} {size}");
        assert_eq!(file.takes_caption(), *caption, "{file_type:?} {content_type} {size}");
    }
}

#[test]
fn a_digest_of_the_provider_is_read_in_both_of_its_forms() {
    let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for text in [empty, hex, &hex.to_uppercase()] {
        assert_eq!(MediaDigest::parse_any(text).unwrap().as_str(), empty);
    }
    for wrong in ["", "e3b0", &hex[1..], &empty[1..], "x"] {
        assert!(MediaDigest::parse_any(wrong).is_err(), "{wrong}");
    }
    let mut hash = MediaHash::default();
    assert_eq!(hash.clone().digest().as_str(), empty);
    hash.add(b"ab");
    let mut parts = MediaHash::default();
    parts.add(b"a");
    parts.add(b"b");
    assert_eq!(hash.digest(), parts.digest());
}

#[test]
fn only_the_mime_types_of_the_table_are_served_as_they_are() {
    for (_, _, content_type, _) in SPECIFIED {
        assert_eq!(FileType::served_as(content_type), *content_type);
    }
    for (content_type, served) in [
        ("image/png", "image/png"),
        ("application/pdf", "application/pdf"),
        ("text/html", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("", "application/octet-stream"),
    ] {
        assert_eq!(FileType::served_as(content_type), served);
    }
}

#[test]
fn a_digest_is_that_of_all_bytes_that_were_added() {
    let digest = |pieces: &[&[u8]]| {
        let mut hash = MediaHash::default();
        pieces.iter().for_each(|piece| hash.add(piece));
        hash.digest()
    };
    assert_eq!(digest(&[]).as_str(), DIGEST);
    // The SHA-256 of "abc" (FIPS 180-2).
    let abc = MediaDigest::parse("ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=").unwrap();
    assert_eq!(digest(&[b"abc"]), abc);
    assert_eq!(digest(&[b"a", b"", b"bc"]), abc);
}

#[test]
fn only_a_checked_file_is_referenced() {
    for (state, expected) in [
        (MediaState::Waiting, false),
        (MediaState::Referenced, true),
        (MediaState::TooLarge, false),
        (MediaState::Empty, false),
    ] {
        assert_eq!(Media { state, ..media(FileType::Image) }.is_referenced(), expected, "{state:?}");
    }
}
