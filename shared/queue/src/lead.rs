//! "Send lead L its first message."

use std::time::Duration;

use domain::{LeadId, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::Unreadable;
use crate::queue::{Queue, Task, Wake};

/// The queue of leads that are to be written to.
pub type LeadQueue = Queue<LeadTask>;

/// What a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadTask {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The lead.
    pub lead_id: LeadId,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskBody {
    workspace_id: String,
    lead_id: String,
}

impl LeadTask {
    /// Reads a message's body; fields of a later release are ignored.
    pub fn read(body: &str) -> Result<Self, Unreadable> {
        let body: TaskBody = serde_json::from_str(body).map_err(|_| Unreadable)?;
        Ok(Self {
            workspace_id: WorkspaceId::parse(&body.workspace_id).map_err(|_| Unreadable)?,
            lead_id: LeadId::parse(&body.lead_id).map_err(|_| Unreadable)?,
        })
    }

    /// The task, to arrive when so much time has passed, in its workspace's turn: a campaign of one workspace does not
    /// keep the others waiting.
    pub fn wake(self, after: Duration) -> Wake<Self> {
        Wake { task: self, group: *self.workspace_id.as_uuid(), after }
    }
}

impl Task for LeadTask {
    const QUEUE: &'static str = "lead-sends";

    fn body(&self) -> String {
        let Self { workspace_id, lead_id } = self;
        format!(r#"{{"workspaceId":"{workspace_id}","leadId":"{lead_id}"}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","leadId":"5e7a9c1d-3f5b-4d7e-9a1c-3e5f7b9d1a2c"}"#;

    #[test]
    fn a_task_reads_back_and_anything_else_is_refused() {
        assert_eq!(LeadTask::read(BODY).unwrap().body(), BODY);
        assert!(LeadTask::read(&BODY.replace('}', r#","later":1}"#)).is_ok());
        for wrong in ["", "null", "[]", "{}", "{\"workspaceId\":1}", &BODY.replace("3f1b", "3f1")] {
            assert_eq!(LeadTask::read(wrong), Err(Unreadable), "{wrong}");
        }
    }
}
