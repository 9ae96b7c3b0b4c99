//! The body of a queue message: "visit lane L".

use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use domain::{ConversationId, EndpointId, LaneId, LaneKind, LeadId, PersonJobId, Slot, Track, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::Unreadable;

/// A visit to queue: which lane, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The lane to visit.
    pub lane: LaneId,
    /// Which of the two webhook queues gets the message. For other kinds of lanes it is [`Track::Fast`].
    pub track: Track,
    /// The delay of the message, at most [`crate::LONGEST_DELAY`].
    pub after: Duration,
}

impl Wake {
    /// A visit without delay.
    pub fn now(lane: LaneId, track: Track) -> Self {
        Self { lane, track, after: Duration::ZERO }
    }
}

/// The suffix of the queue for slow webhook lanes.
const SLOW: &str = "-slow";

/// The name of the queue for a kind of lanes, without the stack's prefix.
pub(crate) fn queue_name(kind: LaneKind, track: Track) -> String {
    match (kind, track) {
        (LaneKind::Webhook, Track::Fast) => "webhook-deliveries".to_owned(),
        (LaneKind::Webhook, Track::Slow) => format!("webhook-deliveries{SLOW}"),
        (LaneKind::Conversation, _) => "message-sends".to_owned(),
        (LaneKind::Lead, _) => "lead-sends".to_owned(),
        (LaneKind::Person, _) => "person-jobs".to_owned(),
    }
}

/// The track of a batch of webhook lanes, from the queue it came from. All messages of a batch come from one
/// queue.
pub fn track_of(event: &SqsEvent) -> Track {
    let from = event.records.first().and_then(|message| message.event_source_arn.as_deref());
    if from.is_some_and(|arn| arn.ends_with(SLOW)) { Track::Slow } else { Track::Fast }
}

/// The body of a message. The visitor reads everything else from the lane.
#[derive(Serialize, Deserialize)]
#[serde(tag = "lane", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Body {
    Webhook { workspace_id: String, endpoint_id: String, slot: u8 },
    Conversation { workspace_id: String, conversation_id: String },
    Lead { workspace_id: String, lead_id: String },
    Person { workspace_id: String, job_id: String },
}

/// The body of the message that names a lane.
pub fn body(lane: &LaneId) -> String {
    let body = match lane {
        LaneId::Webhook(Slot { workspace, endpoint, number }) => Body::Webhook {
            workspace_id: workspace.to_string(),
            endpoint_id: endpoint.to_string(),
            slot: *number,
        },
        LaneId::Conversation(workspace, conversation) => Body::Conversation {
            workspace_id: workspace.to_string(),
            conversation_id: conversation.to_string(),
        },
        LaneId::Lead(workspace, lead) => {
            Body::Lead { workspace_id: workspace.to_string(), lead_id: lead.to_string() }
        }
        LaneId::Person(workspace, job) => {
            Body::Person { workspace_id: workspace.to_string(), job_id: job.to_string() }
        }
    };
    // Strings and small numbers always serialize.
    serde_json::to_string(&body).unwrap_or_default()
}

/// Reads the lane of this kind from a message's body. Fields of later releases are ignored.
pub fn read(kind: LaneKind, body: &str) -> Result<LaneId, Unreadable> {
    let workspace = |id: &str| WorkspaceId::parse(id).map_err(|_| Unreadable);
    let lane = match serde_json::from_str(body).map_err(|_| Unreadable)? {
        Body::Webhook { workspace_id, endpoint_id, slot } => LaneId::Webhook(Slot {
            workspace: workspace(&workspace_id)?,
            endpoint: EndpointId::parse(&endpoint_id).map_err(|_| Unreadable)?,
            number: slot,
        }),
        Body::Conversation { workspace_id, conversation_id } => LaneId::Conversation(
            workspace(&workspace_id)?,
            ConversationId::parse(&conversation_id).map_err(|_| Unreadable)?,
        ),
        Body::Lead { workspace_id, lead_id } => {
            LaneId::Lead(workspace(&workspace_id)?, LeadId::parse(&lead_id).map_err(|_| Unreadable)?)
        }
        Body::Person { workspace_id, job_id } => {
            LaneId::Person(workspace(&workspace_id)?, PersonJobId::parse(&job_id).map_err(|_| Unreadable)?)
        }
    };
    if lane.kind() == kind { Ok(lane) } else { Err(Unreadable) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODIES: [(LaneKind, &str); 4] = [
        (
            LaneKind::Webhook,
            r#"{"lane":"webhook","workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","endpointId":"1d3f5a7b-9c1e-4d3f-a5b7-c9d1e3f5a7b9","slot":2}"#,
        ),
        (
            LaneKind::Conversation,
            r#"{"lane":"conversation","workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","conversationId":"1d3f5a7b-9c1e-4d3f-a5b7-c9d1e3f5a7b9"}"#,
        ),
        (
            LaneKind::Lead,
            r#"{"lane":"lead","workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","leadId":"5e7a9c1d-3f5b-4d7e-9a1c-3e5f7b9d1a2c"}"#,
        ),
        (
            LaneKind::Person,
            r#"{"lane":"person","workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","jobId":"7f9b1d3e-5a7c-4e9b-8d1f-3a5c7e9b1d3f"}"#,
        ),
    ];

    #[test]
    fn a_body_is_readable_in_its_own_queue_and_in_no_other() {
        for (kind, text) in BODIES {
            let lane = read(kind, text).unwrap();
            assert_eq!((body(&lane).as_str(), lane.kind()), (text, kind));
            assert_eq!(read(kind, &text.replace('}', r#","later":1}"#)), Ok(lane));
            for other in LaneKind::ALL.into_iter().filter(|other| *other != kind) {
                assert_eq!(read(other, text), Err(Unreadable));
            }
        }
    }

    #[test]
    fn a_body_that_names_no_lane_is_refused() {
        let (kind, text) = BODIES[0];
        let wrong = [
            "".to_owned(),
            "null".to_owned(),
            "[]".to_owned(),
            "{}".to_owned(),
            text.replace("webhook", "postcard"),
            text.replace("3f1b", "3f1"),
            text.replace(":2", ":256"),
            text.replace(":2", ":-1"),
        ];
        for wrong in wrong {
            assert_eq!(read(kind, &wrong), Err(Unreadable), "{wrong}");
        }
    }

    #[test]
    fn the_queue_of_a_batch_determines_its_track() {
        let of = |arn: &str| {
            let event = serde_json::json!({ "Records": [{ "eventSourceARN": arn }] });
            track_of(&serde_json::from_value(event).unwrap())
        };
        let arn = |track| {
            let name = queue_name(LaneKind::Webhook, track);
            format!("arn:aws:sqs:eu-west-1:123456789012:messaging-{name}")
        };
        assert_eq!([Track::Fast, Track::Slow].map(|track| of(&arn(track))), [Track::Fast, Track::Slow]);
        assert_eq!(of("arn:aws:sqs:eu-west-1:123456789012:a-slow-webhook-deliveries"), Track::Fast);
        assert_eq!(track_of(&SqsEvent::default()), Track::Fast);
    }
}
