//! The rows for sending a conversation's messages: its lane and its onboarding plan.

use domain::message::summary::Tally;
use domain::settings::template::TemplateContent;
use domain::{ConversationId, LaneId, OnboardingPlan, Recipient, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{Item, read, row, s};
use crate::dynamodb::write::LAST_REQUEST;
use crate::{StoreError, keys};

/// The lane of a new conversation, as `request_id` writes it. `seq` numbers are taken, `tally` counts those
/// that are messages. It is due from `due_at` on, if there is something to send.
pub(crate) fn first_lane(
    workspace: WorkspaceId,
    conversation: ConversationId,
    seq: u64,
    tally: Tally,
    due_at: Option<Timestamp>,
    request_id: &str,
) -> Result<Item, StoreError> {
    let body = LaneRow {
        seq,
        mark: 1,
        lease: None,
        lease_until: None,
        due_shard: due_at.map(|_| keys::due_shard(&LaneId::Conversation(workspace, conversation))),
        due_at: due_at.map(Timestamp::as_millis),
        outbound: tally.outbound,
        inbound: tally.inbound,
        internal: tally.internal,
        first_at: tally.first.map(Timestamp::as_millis),
        last_at: tally.last.map(Timestamp::as_millis),
    };
    let mut item = row(keys::conversation_lane(workspace, conversation), "lane", &body)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// An onboarding plan's row as `request_id` writes it.
pub(crate) fn plan_item(plan: &OnboardingPlan, request_id: &str) -> Result<Item, StoreError> {
    let mut item = row(keys::plan(plan.workspace_id, plan.conversation), "plan", plan)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// `W#C#<conversation id>` / `L`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LaneRow {
    /// The last number taken. The next message takes the number after it.
    pub(crate) seq: u64,
    /// Grows by one with each piece of new work.
    pub(crate) mark: u64,
    /// The lease of the current visitor and its end (milliseconds since 1970).
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease_until: Option<i64>,
    /// The partition of the `due` index, and the time from which the lane is due (milliseconds since 1970).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due_shard: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due_at: Option<i64>,
    /// The number of messages of each direction, and when the first and the last were created (milliseconds
    /// since 1970), as far as they are counted here ([`LaneRow::counted`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) outbound: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) inbound: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) internal: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_at: Option<i64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Reads the plan of this conversation from its row.
pub(crate) fn plan(
    item: Item,
    workspace_id: WorkspaceId,
    conversation: ConversationId,
) -> Result<OnboardingPlan, StoreError> {
    Ok(OnboardingPlan { workspace_id, conversation, ..read(item)? })
}

/// `W#C#<conversation id>` / `P`. Deleted when the last step has become a message.
#[derive(Serialize, Deserialize)]
#[serde(remote = "OnboardingPlan", rename_all = "camelCase")]
struct PlanRow {
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
    #[serde(skip, default = "OfKey::placeholder")]
    conversation: ConversationId,
    #[serde(with = "fields::list")]
    recipients: Vec<Recipient>,
    #[serde(with = "fields::list")]
    steps: Vec<TemplateContent>,
    done: usize,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
}

stored! { LaneRow = LaneRow, OnboardingPlan = PlanRow }

#[cfg(test)]
mod tests {
    use domain::settings::template::{ParameterValue, Parameters, Shown};
    use domain::{ChannelId, ContactId, TemplateId};

    use super::*;
    use crate::dynamodb::item::text;

    const WORKSPACE: WorkspaceId = WorkspaceId::from_uuid(Uuid::from_u128(1));
    const CONVERSATION: ConversationId = ConversationId::from_uuid(Uuid::from_u128(2));

    #[test]
    fn a_plan_read_from_its_row_is_unchanged() {
        let channel = ChannelId::parse("1045551234567").unwrap();
        let parameters = Parameters::from([("code".to_owned(), ParameterValue::parse("7").unwrap())]);
        let plan = OnboardingPlan {
            workspace_id: WORKSPACE,
            conversation: CONVERSATION,
            recipients: vec![Recipient { contact: ContactId::from_uuid(Uuid::from_u128(3)), channel }],
            steps: vec![TemplateContent {
                template: TemplateId::from_uuid(Uuid::from_u128(4)),
                parameters,
                files: [].into(),
                shown: Shown { name: "hi".to_owned(), language: "es".to_owned(), category: None, text: None },
            }],
            done: 1,
            created_at: Timestamp::from_millis(1_767_323_045_678),
        };
        let item = plan_item(&plan, "r").unwrap();
        assert_eq!((text(&item, "sk"), text(&item, LAST_REQUEST)), ("P", "r"));
        assert_eq!(super::plan(item, WORKSPACE, CONVERSATION).unwrap(), plan);
    }

    #[test]
    fn a_lane_is_in_the_due_index_only_while_it_has_something_to_send() {
        let lane = |due_at| first_lane(WORKSPACE, CONVERSATION, 2, Tally::default(), due_at, "r").unwrap();
        let idle = lane(None);
        assert_eq!((text(&idle, "sk"), text(&idle, LAST_REQUEST)), ("L", "r"));
        assert!(!idle.contains_key("dueShard") && !idle.contains_key("dueAt"));
        let due: LaneRow = read(lane(Some(Timestamp::from_millis(5)))).unwrap();
        assert_eq!((due.seq, due.lease, due.lease_until), (2, None, None));
        assert_eq!((due.due_shard.as_deref(), due.due_at), (Some("due#00"), Some(5)));
    }
}
