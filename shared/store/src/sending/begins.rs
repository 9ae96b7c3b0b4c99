//! Beginnings of calls that are taken back: a sender that does not know whether its beginning was recorded, and has made
//! no call, sees to it that none is found later, not even one that is still on its way.

use std::time::Duration;

use domain::lane::Plan;
use domain::{LaneId, Message};
use uuid::Uuid;

use crate::dynamodb::item::{key, s};
use crate::dynamodb::retry::{Patience, while_busy};
use crate::dynamodb::write::{LAST_REQUEST, Wrote, is_by};
use crate::lanes::given_back;
use crate::{LeasedLead, Outbound, Store, StoreError, Table, keys};

impl Store {
    /// Takes back that a call for a message begins, under this lease: `seen` is the message as it was before. Where
    /// nothing had begun the message stays as it is, and a beginning that comes late is refused. `None` if somebody
    /// else sends it. Tried again for as long as `patience` lasts. One trip; two if it had begun.
    pub async fn undo_begin(
        &self,
        seen: &Outbound,
        lease: Uuid,
        patience: Duration,
    ) -> Result<Option<Outbound>, StoreError> {
        let before = &seen.message.progress;
        self.record_while(
            seen,
            |progress| progress == before || progress.calling == Some(lease),
            patience,
            Message::not_called,
        )
        .await
    }

    /// Takes back that a call for a lead begins, and gives the lead back, its next visitor as planned; what it opened
    /// stays. A beginning that comes late is refused, as the lease is over. `false` if the lead is somebody else's by
    /// now. Tried again for as long as `patience` lasts. One trip.
    pub async fn undo_lead_begin(
        &self,
        leased: &LeasedLead,
        plan: Option<Plan>,
        patience: Duration,
    ) -> Result<bool, StoreError> {
        let (request, lead) = (self.ids.next().to_string(), &leased.lead);
        let (pk, sk) = keys::lead(lead.workspace_id, lead.id);
        let change = given_back(plan, &LaneId::Lead(lead.workspace_id, lead.id))
            .set(LAST_REQUEST, s(&request))
            .remove_within("progress", "calling")
            .when("#lease = :mine")
            .bind(":mine", s(leased.lease.to_string()));
        let write = change.of(Table::Leads, key(pk, sk));
        let once = async || self.write(write.clone()).await;
        Ok(match while_busy(Patience::lasting(self, patience), once).await? {
            Wrote::Done(_) => true,
            Wrote::Refused(found) => found.is_some_and(|found| is_by(&found, &request)),
        })
    }
}
