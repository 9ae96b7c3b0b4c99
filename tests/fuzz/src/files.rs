//! Files: their names, types and digests, and the header under which a browser saves one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::media::{FileName, RULES};
use domain::{FileType, Media, MediaDigest};
use harness::{TestBucket, World};
use store::Bucket;
use tokio::runtime::{Builder, Runtime};
use url::Url;

thread_local! {
    static BENCH: (Runtime, Bucket, Media) = bench();
}

/// The input is a name, and on further lines a MIME type and a digest.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.splitn(3, '\n');
    let name = lines.next().unwrap_or_default();
    let (mime, digest) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());

    let parsed = FileName::parse(name).ok();
    assert!(parsed.as_ref().is_none_or(|parsed| parsed.as_str() == name && !name.contains(['/', '\\'])));
    let safe = FileName::safe(name);
    if let Some(safe) = &safe {
        let text = safe.as_str();
        assert!((1..=FileName::MAX).contains(&text.chars().count()), "{name:?}");
        assert!(!text.contains(|c: char| c.is_control() || "/\\\u{202e}\u{200b}".contains(c)), "{name:?}");
        assert!(FileName::parse(text).is_ok(), "{name:?}");
        assert_eq!(FileName::safe(text).as_ref(), Some(safe), "{name:?}");
    }
    for name in parsed.iter().chain(&safe) {
        formats(name, mime);
        disposition(name);
    }
    let known = RULES.iter().flat_map(|rule| rule.formats).any(|(_, known)| *known == mime);
    assert_eq!(FileType::served_as(mime), if known { mime } else { "application/octet-stream" });

    let is_digest = STANDARD.decode(digest).is_ok_and(|bytes| bytes.len() == 32);
    assert_eq!(MediaDigest::parse(digest).is_ok(), is_digest, "{digest}");
    if let Ok(any) = MediaDigest::parse_any(digest) {
        assert_eq!(MediaDigest::parse(any.as_str()), Ok(any), "{digest}");
    }
}

fn formats(name: &FileName, mime: &str) {
    for rule in RULES {
        match rule.file_type.format(name, mime) {
            Ok(known) => {
                assert!(known.eq_ignore_ascii_case(mime));
                let extension = name.extension().unwrap().to_ascii_lowercase();
                assert!(rule.formats.contains(&(extension.as_str(), known)));
            }
            Err(mismatches) => assert!((1..=2).contains(&mismatches.len())),
        }
    }
}

/// The URL asks the bucket for a header that saves the file, and that no name can end or extend.
fn disposition(name: &FileName) {
    BENCH.with(|(runtime, bucket, media)| {
        let media = Media { name: name.clone(), ..media.clone() };
        let (url, _) = runtime.block_on(bucket.presign_download(&media)).unwrap();
        let url = Url::parse(&url).unwrap();
        let value = |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).unwrap().1.into_owned();
        let header = value("response-content-disposition");
        let rest = header.strip_prefix("attachment; filename=\"").unwrap();
        let (plain, encoded) = rest.split_once("\"; filename*=UTF-8''").unwrap();
        assert_eq!(plain.chars().count(), name.as_str().chars().count());
        assert!(
            plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .-_()".contains(&byte)),
            "{header}"
        );
        assert!(
            encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%.-_".contains(&byte)),
            "{header}"
        );
        let shown = Url::parse(&format!("x:?{encoded}")).unwrap();
        let (shown, _) = shown.query_pairs().next().map(|(name, value)| (name.into_owned(), value)).unwrap();
        assert_eq!(shown, name.as_str());
        assert_eq!(value("response-content-type"), "image/png");
    });
}

fn bench() -> (Runtime, Bucket, Media) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (bucket, media) = runtime.block_on(async {
        let world = World::start().await;
        (TestBucket::beside(&world.db).bucket(), world.media(|_| ()).await)
    });
    (runtime, bucket, media)
}
