//! Taking back the start of a call. A sender that does not know whether the start was recorded makes no call,
//! and ensures that no start is found later, not even one that is still in flight.

use std::time::Duration;

use domain::Message;
use domain::sending::Progress;
use uuid::Uuid;

use crate::{Begun, Outbound, Store, StoreError};

impl Store {
    /// Takes back the start of a call for a message under this lease. `seen` is the message as it was before.
    /// If no start was recorded, the message stays as it is, and a start that arrives late is refused.
    /// Returns `None` if another sender has the message. Retries for at most `retry_for`. One round trip; two
    /// if a start was recorded.
    pub async fn take_back_begin(
        &self,
        seen: &Outbound,
        lease: Uuid,
        retry_for: Duration,
    ) -> Result<Option<Outbound>, StoreError> {
        let is_mine = |progress: &Progress| progress.calling == Some(lease);
        Ok(match self.record_while(seen, is_mine, None, retry_for, Message::not_called).await? {
            Begun::Done(undone) => Some(*undone),
            Begun::ChoicesChanged | Begun::Lost => None,
        })
    }
}
