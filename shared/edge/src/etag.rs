//! Entity tags: strong tags that are a digest of the shown resource.

use domain::encoding::hex;
use sha2::{Digest, Sha256};

/// The tag of one state of one resource.
///
/// It covers the representation and, if the resource depends on them, the version of the attribute
/// definitions. So it changes whenever a response could change, except for when customers of a conversation were
/// last seen: that is no change of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(String);

impl ETag {
    /// The tag of a representation. `definitions` is the version of the definitions on which it depends, or
    /// 0.
    pub fn of(representation: &[u8], definitions: u64) -> Self {
        let mut digest = Sha256::new();
        digest.update(definitions.to_be_bytes());
        digest.update(representation);
        let short = hex(&digest.finalize()[..16]);
        Self(format!("\"{short}\""))
    }

    /// The tag as the header contains it, in quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an `If-Match` header allows a change of this state (RFC 9110: `*`, or a list that contains
    /// this tag; a weak tag never matches).
    pub fn matches(&self, if_match: &str) -> bool {
        if_match.split(',').map(str::trim).any(|tag| tag == "*" || tag == self.0)
    }
}

/// Whether an `If-None-Match` header names this tag, so that the sender has the content already (RFC 9110: `*`, or a
/// list that contains the tag, weak or strong).
pub(crate) fn lists(if_none_match: &str, tag: &str) -> bool {
    let mut tags = if_none_match.split(',').map(str::trim);
    tags.any(|named| named == "*" || named.strip_prefix("W/").unwrap_or(named) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_changes_with_the_representation_and_with_the_definitions() {
        let tag = ETag::of(b"{}", 1);
        assert_eq!(tag, ETag::of(b"{}", 1));
        assert_ne!(tag, ETag::of(b"{ }", 1));
        assert_ne!(tag, ETag::of(b"{}", 2));
        assert_eq!(tag.as_str().len(), 34);
    }

    #[test]
    fn if_match_accepts_a_star_or_a_list_of_strong_tags() {
        let tag = ETag::of(b"{}", 1);
        for good in ["*".to_owned(), tag.as_str().to_owned(), format!("\"x\", {}", tag.as_str())] {
            assert!(tag.matches(&good), "{good}");
        }
        for bad in ["", "\"x\"", &format!("W/{}", tag.as_str()), tag.as_str().trim_matches('"')] {
            assert!(!tag.matches(bad), "{bad}");
        }
    }
}
