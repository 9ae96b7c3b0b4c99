//! The other rows of a person: the contact, leads, files, and the rows under the person's numbers.

use domain::contact::search::phone_rows;
use domain::{Cellphone, Contact, ContactId, Lead, MediaId, Timestamp, WorkspaceId};

use crate::contacts::plan::{erase_writes, search_hints};
use crate::dynamodb::item::{SK, key, key_of, s, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// The days whose counts of a number may exist: a count is kept for two days, and clocks differ.
const DAYS: [i64; 5] = [-3, -2, -1, 0, 1];

impl Store {
    /// Deletes a contact with its identity and search rows. Returns `false` if it was changed since it was
    /// read. One round trip.
    pub async fn erase_contact(&self, seen: &Contact) -> Result<bool, StoreError> {
        Ok(self.transact(erase_writes(seen)?).await?.is_ok())
    }

    /// Deletes what is left of a contact that became part of another one. One round trip.
    pub async fn erase_merged(&self, workspace: WorkspaceId, id: ContactId) -> Result<(), StoreError> {
        let row = Write::delete(Table::Contacts, key(keys::contact(workspace, id)));
        self.write(row.when("attribute_exists(mergedInto)")).await?;
        Ok(())
    }

    /// The number of rows that are deleted with a contact.
    pub fn rows_of_contact(contact: &Contact) -> Result<u64, StoreError> {
        Ok(erase_writes(contact)?.len() as u64)
    }

    /// Deletes a lead, the row that makes others repeats of it, and the search rows of a contact that it was
    /// about to make. One round trip for each row.
    pub async fn erase_lead(&self, lead: &Lead) -> Result<(), StoreError> {
        self.erase_repeat(lead).await?;
        if self.contact(lead.workspace_id, lead.contact).await?.is_none() {
            for hint in search_hints(&lead.new_contact(lead.created_at))? {
                self.write(Write::delete(Table::Contacts, key_of(&hint))).await?;
            }
        }
        self.write(Write::delete(Table::Leads, key(keys::lead(lead.workspace_id, lead.id)))).await?;
        Ok(())
    }

    /// Deletes the row that makes others repeats of a lead. Whoever had the number before or after may have a row there, too.
    async fn erase_repeat(&self, lead: &Lead) -> Result<(), StoreError> {
        let row = key(keys::lead_repeat(lead.workspace_id, &lead.cellphone.key(), &lead.brand));
        let own =
            Write::delete(Table::Leads, row).when("leadId = :lead").bind(":lead", s(lead.id.to_string()));
        self.write(own).await?;
        Ok(())
    }

    /// Deletes the counts of a number's leads. One round trip for each day.
    pub async fn erase_counts(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
    ) -> Result<(), StoreError> {
        for (pk, sk) in self.count_keys(workspace, cellphone) {
            self.write(Write::delete(Table::Leads, key((pk, sk)))).await?;
        }
        Ok(())
    }

    /// The number of rows that count a number's leads. One round trip.
    pub async fn counts_of(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<u64, StoreError> {
        let keys = self.count_keys(workspace, cellphone).into_iter();
        let places: Vec<Place> = keys.map(|key| Place::of(Table::Leads, key)).collect();
        Ok(self.rows_at(&places).await?.into_items().count() as u64)
    }

    fn count_keys(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Vec<(String, &'static str)> {
        const DAY: i64 = 86_400_000;
        let now = self.now().as_millis();
        let day = |day: i64| Timestamp::from_millis(now + day * DAY).to_day_string();
        DAYS.iter().map(|at| keys::leads_of_phone(workspace, &cellphone.key(), &day(*at))).collect()
    }

    /// Deletes search rows of a number that belong to no contact: a sender wrote them for a contact that it
    /// never made. Three round trips, and two for each row.
    pub async fn erase_stray_hints(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
    ) -> Result<(), StoreError> {
        for (end, digits) in phone_rows(cellphone.digits()) {
            let pk = keys::contact_digits(workspace, end, &digits);
            for item in
                self.query_all(Query::of(Table::Contacts, pk).begins_with(format!("{digits}#"))).await?
            {
                let of = keys::read_search_sort_key(text(&item, SK)).map(|(_, contact)| contact);
                let Some(contact) = of.filter(|_| text(&item, "ph") == cellphone.digits()) else { continue };
                if self.contact(workspace, contact).await?.is_none() {
                    self.write(Write::delete(Table::Contacts, key_of(&item))).await?;
                }
            }
        }
        Ok(())
    }

    /// Deletes the row of a file. One round trip.
    pub async fn erase_media(&self, workspace: WorkspaceId, id: MediaId) -> Result<(), StoreError> {
        self.write(Write::delete(Table::Media, key(keys::media(workspace, id)))).await?;
        Ok(())
    }
}
