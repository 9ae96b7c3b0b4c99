//! The rows of a conversation: its home row, and a full copy in each newest-first list that contains it.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::conversation::ContactRef;
use domain::{
    BrandId, Cellphone, ChannelId, ContactId, Conversation, ConversationId, ConversationName,
    ConversationStatus, Email, External, Internal, Timestamp, UserId, UserRef, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, read, row, s};
use crate::dynamodb::write::LAST_REQUEST;
use crate::{StoreError, keys};

/// The hash key of the index `byStatus`: list and status. The range key is that of the list.
pub(crate) const STATUS_PK: &str = "statusPk";
/// The users of a conversation as a set, for filtering a contact's list. Absent if there are none.
pub(crate) const INTERNAL_IDS: &str = "internalIds";

/// The partition key of the stored answer to the request that made the conversation, if it had an idempotency
/// key. Only the home row has it.
pub(crate) const ANSWER_PK: &str = "answerPk";

const HOME: &str = "conversation";
const LISTED: &str = "listedConversation";

/// Reads the conversation from its home row or from a copy in a list.
pub(crate) fn conversation(item: Item) -> Result<Conversation, StoreError> {
    read(item)
}

/// A conversation's home row as `request_id` writes it.
pub(crate) fn home_item(conversation: &Conversation, request_id: &str) -> Result<Item, StoreError> {
    let key = keys::conversation(conversation.workspace_id, conversation.id);
    let mut item = row(key, HOME, conversation)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// A conversation's copy in a list ([`lists`]).
pub(crate) fn listed_item(conversation: &Conversation, list: &str) -> Result<Item, StoreError> {
    let sk = keys::newest_first(conversation.created_at, conversation.id);
    let mut item = row((list, sk), LISTED, conversation)?;
    item.insert(STATUS_PK.to_owned(), s(keys::with_status(list, conversation.status)));
    let internals: Vec<String> =
        conversation.internals.iter().map(|internal| internal.user.to_string()).collect();
    if !internals.is_empty() {
        item.insert(INTERNAL_IDS.to_owned(), AttributeValue::Ss(internals));
    }
    Ok(item)
}

/// The lists that contain a conversation: all conversations, and one for each contact and each user.
pub(crate) fn lists(conversation: &Conversation) -> Vec<String> {
    let workspace = conversation.workspace_id;
    let everything = keys::conversations(workspace, conversation.list_shard);
    let contacts = conversation.externals.iter();
    let contacts = contacts.map(|external| keys::conversations_of_contact(workspace, external.contact));
    let users = conversation.internals.iter();
    let users = users.map(|internal| keys::conversations_of_user(workspace, internal.user));
    [everything].into_iter().chain(contacts).chain(users).collect()
}

/// `W#C#<id>` / `C`, and its copies `W#A#<shard>`, `W#X#<contact>` and `W#I#<user>` / T.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Conversation", rename_all = "camelCase")]
struct ConversationRow {
    #[serde(with = "fields::text")]
    id: ConversationId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    name: Option<ConversationName>,
    #[serde(with = "fields::text")]
    status: ConversationStatus,
    #[serde(with = "fields::list")]
    externals: Vec<External>,
    #[serde(with = "fields::list")]
    internals: Vec<Internal>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    list_shard: u8,
    version: u64,
    /// All copies of a conversation have the same.
    #[serde(with = "fields::optional_seconds", default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

/// Shown by e-mail address, by phone number or, without either, by id.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExternalField {
    #[serde(with = "fields::text")]
    contact_id: ContactId,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    email: Option<Email>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    cellphone: Option<Cellphone>,
    #[serde(with = "fields::text")]
    channel_id: ChannelId,
    #[serde(with = "fields::text")]
    brand_id: BrandId,
    #[serde(with = "fields::text")]
    joined_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    last_seen_at: Option<Timestamp>,
}

/// Shown by e-mail address or, without one, by id.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InternalField {
    #[serde(with = "fields::text")]
    user_id: UserId,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    email: Option<Email>,
    #[serde(with = "fields::text")]
    joined_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    last_seen_at: Option<Timestamp>,
}

stored! {
    Conversation = ConversationRow,
    External = fields::Shaped<ExternalField>,
    Internal = fields::Shaped<InternalField>,
}

impl From<&External> for ExternalField {
    fn from(external: &External) -> Self {
        let (email, cellphone) = match &external.shown {
            ContactRef::Id(_) => (None, None),
            ContactRef::Email(email) => (Some(email.clone()), None),
            ContactRef::Cellphone(cellphone) => (None, Some(cellphone.clone())),
        };
        Self {
            contact_id: external.contact,
            email,
            cellphone,
            channel_id: external.channel.clone(),
            brand_id: external.brand.clone(),
            joined_at: external.joined_at,
            last_seen_at: external.last_seen_at,
        }
    }
}

impl From<ExternalField> for External {
    fn from(field: ExternalField) -> Self {
        let email = field.email.map(ContactRef::Email);
        let shown = email.or(field.cellphone.map(ContactRef::Cellphone));
        Self {
            contact: field.contact_id,
            shown: shown.unwrap_or(ContactRef::Id(field.contact_id)),
            channel: field.channel_id,
            brand: field.brand_id,
            joined_at: field.joined_at,
            last_seen_at: field.last_seen_at,
        }
    }
}

impl From<&Internal> for InternalField {
    fn from(internal: &Internal) -> Self {
        let email = match &internal.shown {
            UserRef::Id(_) => None,
            UserRef::Email(email) => Some(email.clone()),
        };
        Self {
            user_id: internal.user,
            email,
            joined_at: internal.joined_at,
            last_seen_at: internal.last_seen_at,
        }
    }
}

impl From<InternalField> for Internal {
    fn from(field: InternalField) -> Self {
        Self {
            user: field.user_id,
            shown: field.email.map_or(UserRef::Id(field.user_id), UserRef::Email),
            joined_at: field.joined_at,
            last_seen_at: field.last_seen_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::dynamodb::item::text;

    const AT: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn external(n: u128, shown: ContactRef) -> External {
        External {
            contact: ContactId::from_uuid(Uuid::from_u128(n)),
            shown,
            channel: ChannelId::parse("1045551234567").unwrap(),
            brand: BrandId::parse("a brand").unwrap(),
            joined_at: AT,
            last_seen_at: (n == 3).then_some(AT),
        }
    }

    fn internal(n: u128, email: Option<&str>) -> Internal {
        let user = UserId::from_uuid(Uuid::from_u128(n));
        let email = email.map(|email| UserRef::Email(Email::parse(email).unwrap()));
        Internal {
            user,
            shown: email.unwrap_or(UserRef::Id(user)),
            joined_at: AT,
            last_seen_at: (n == 6).then_some(AT),
        }
    }

    /// A conversation with participants named in every possible way.
    fn full() -> Conversation {
        let three = ContactId::from_uuid(Uuid::from_u128(3));
        Conversation {
            id: ConversationId::from_uuid(Uuid::from_u128(1)),
            workspace_id: WorkspaceId::from_uuid(Uuid::from_u128(2)),
            name: ConversationName::parse("Order 7\n").ok(),
            status: ConversationStatus::NotAssignedToHuman,
            externals: vec![
                external(3, ContactRef::Id(three)),
                external(4, ContactRef::Email(Email::parse("Ann@X.io").unwrap())),
                external(5, ContactRef::Cellphone(Cellphone::parse("+34600111222").unwrap())),
            ],
            internals: vec![internal(6, None), internal(7, Some("Agent@X.io"))],
            created_at: AT,
            updated_at: Timestamp::from_millis(AT.as_millis() + 1),
            list_shard: 15,
            version: 9,
            expires_at: Some(Timestamp::from_millis(1_769_915_045_000)),
        }
    }

    fn bare() -> Conversation {
        Conversation { name: None, internals: vec![], expires_at: None, ..full() }
    }

    #[test]
    fn a_conversation_read_from_its_home_row_or_a_list_is_unchanged() {
        for kept in [full(), bare()] {
            assert_eq!(conversation(home_item(&kept, "r").unwrap()).unwrap(), kept);
            for list in lists(&kept) {
                assert_eq!(conversation(listed_item(&kept, &list).unwrap()).unwrap(), kept);
            }
        }
    }

    #[test]
    fn a_conversation_is_in_the_list_of_all_and_in_the_list_of_each_participant() {
        let id = |n: u128| Uuid::from_u128(n).to_string();
        let workspace = id(2);
        let all = format!("{workspace}#A#15");
        let contacts = [3, 4, 5].map(|n| format!("{workspace}#X#{}", id(n)));
        let users = [6, 7].map(|n| format!("{workspace}#I#{}", id(n)));
        let expected: Vec<String> = [all].into_iter().chain(contacts).chain(users).collect();
        assert_eq!(lists(&full()), expected);
        assert_eq!(lists(&bare()), expected[..4]);
    }

    #[test]
    fn a_row_in_a_list_is_sorted_by_time_has_its_status_and_names_the_users() {
        let list = "list";
        let item = listed_item(&full(), list).unwrap();
        let text_of = ["pk", "sk", "kind", STATUS_PK].map(|name| text(&item, name));
        let sk = "8232676954321#00000000-0000-0000-0000-000000000001";
        assert_eq!(text_of, ["list", sk, "listedConversation", "list#NOT_ASSIGNED_TO_HUMAN"]);
        let users = [6, 7].map(|n| Uuid::from_u128(n).to_string());
        assert_eq!(item[INTERNAL_IDS], AttributeValue::Ss(users.into()));
        // A set cannot be empty.
        assert!(!listed_item(&bare(), list).unwrap().contains_key(INTERNAL_IDS));
        assert!(!home_item(&full(), "r").unwrap().contains_key(STATUS_PK), "the home is in no list");
    }
}
