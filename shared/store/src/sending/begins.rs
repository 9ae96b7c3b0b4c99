//! Taking back the start of a call. A sender that does not know whether the start was recorded makes no call,
//! and ensures that no start is found later, not even one that is still in flight.

use std::time::Duration;

use domain::lane::DuePlan;
use domain::sending::Progress;
use domain::{LaneId, Message};
use uuid::Uuid;

use crate::dynamodb::item::{key, s};
use crate::dynamodb::retry::{RetryTime, retry_while_busy};
use crate::dynamodb::write::{LAST_REQUEST, Wrote, is_written_by};
use crate::lanes::release_change;
use crate::{Begun, LeasedLead, Outbound, Store, StoreError, Table, keys};

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

    /// Takes back the start of a call for a lead, and releases the lead with the next visit as planned. What
    /// the lead created stays. A start that arrives late is refused, because the lease is over. Returns
    /// `false` if another visitor holds the lead. Retries for at most `retry_for`. One round trip.
    pub async fn take_back_lead_begin(
        &self,
        leased: &LeasedLead,
        plan: Option<DuePlan>,
        retry_for: Duration,
    ) -> Result<bool, StoreError> {
        let (request, lead) = (self.ids.next().to_string(), &leased.lead);
        let change = release_change(plan, &LaneId::Lead(lead.workspace_id, lead.id))
            .set(LAST_REQUEST, s(&request))
            .remove_within("progress", "calling")
            .when("#lease = :mine")
            .bind(":mine", s(leased.lease.to_string()));
        let write = change.of(Table::Leads, key(keys::lead(lead.workspace_id, lead.id)));
        let once = async || self.write(write.clone()).await;
        Ok(match retry_while_busy(RetryTime::limited_to(self, retry_for), once).await? {
            Wrote::Done(_) => true,
            Wrote::Refused(found) => found.is_some_and(|found| is_written_by(&found, &request)),
        })
    }
}
