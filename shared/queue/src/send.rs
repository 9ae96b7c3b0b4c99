//! "Send what is due in conversation C."

use std::time::Duration;

use domain::{ConversationId, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::Unreadable;
use crate::queue::{Queue, Task, Wake};

/// The queue of conversations in which something is to be sent.
pub type SendQueue = Queue<SendTask>;

/// What a message asks for. What is to be sent, and in which order, is read from the conversation's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTask {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation to be woken.
    pub conversation_id: ConversationId,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskBody {
    workspace_id: String,
    conversation_id: String,
}

impl SendTask {
    /// Reads a message's body; fields of a later release are ignored.
    pub fn read(body: &str) -> Result<Self, Unreadable> {
        let body: TaskBody = serde_json::from_str(body).map_err(|_| Unreadable)?;
        Ok(Self {
            workspace_id: WorkspaceId::parse(&body.workspace_id).map_err(|_| Unreadable)?,
            conversation_id: ConversationId::parse(&body.conversation_id).map_err(|_| Unreadable)?,
        })
    }

    /// The task, to arrive when so much time has passed, in its workspace's turn: a workspace that broadcasts to
    /// thousands does not keep the others waiting.
    pub fn wake(self, after: Duration) -> Wake<Self> {
        Wake { task: self, group: *self.workspace_id.as_uuid(), after }
    }
}

impl Task for SendTask {
    const QUEUE: &'static str = "message-sends";

    fn body(&self) -> String {
        let Self { workspace_id, conversation_id } = self;
        format!(r#"{{"workspaceId":"{workspace_id}","conversationId":"{conversation_id}"}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","conversationId":"1d3f5a7b-9c1e-4d3f-a5b7-c9d1e3f5a7b9"}"#;

    #[test]
    fn a_task_reads_back_and_anything_else_is_refused() {
        assert_eq!(SendTask::read(BODY).unwrap().body(), BODY);
        assert!(SendTask::read(&BODY.replace('}', r#","later":1}"#)).is_ok());
        for wrong in ["", "null", "[]", "{}", "{\"workspaceId\":1}", &BODY.replace("3f1b", "3f1")] {
            assert_eq!(SendTask::read(wrong), Err(Unreadable), "{wrong}");
        }
    }
}
