//! What the provider reports about parts, written into the rows of their messages.
//!
//! A sender may write the same row. A report changes only its part, the version and the time of the change, under
//! the condition of the version as it was read. It leaves `lastRequest`, by which senders recognise each other's
//! writes. A sender's write has the conditions of both. So neither overwrites the other, and whoever comes second
//! merges with the row as it was found (`record_while` in `messages::lane`).

use aws_sdk_dynamodb::types::AttributeValue;
use domain::Message;
use domain::message::{Report, ReportKind, Reported};
use futures::future::try_join3;

use crate::dynamodb::item::{key, n};
use crate::dynamodb::write::{Write, Wrote};
use crate::messages::row::{message, message_item};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// Records a report about a part of a message, as it was read. A read part also moves when the customer was
    /// last seen, and a part whose outcome was unknown gets its provider's id. Returns `false` if the message was
    /// erased. One round trip; more only while other writes change the row, or if it was erased.
    pub async fn record_report(
        &self,
        seen: &Message,
        part: usize,
        report: &Report,
    ) -> Result<bool, StoreError> {
        let Some(before) = seen.parts.get(part) else { return Ok(false) };
        let (workspace, conversation, contact) = (seen.workspace_id, seen.conversation, before.recipient);
        let id = &report.provider_message_id;
        let names = before.provider_message_id.is_none()
            && matches!(seen.reported(part, report, self.now()), Reported::Changed(_));
        let is_read = report.kind == ReportKind::Read;
        let saw = async {
            match is_read {
                true => self.saw(workspace, conversation, contact, report.at).await,
                false => Ok(()),
            }
        };
        let named = async {
            match names {
                true => self.put_provider_id(seen, part, id).await,
                false => Ok(()),
            }
        };
        let (is_there, (), ()) = try_join3(self.merge_report(seen, part, report), saw, named).await?;
        if !is_there && names {
            self.drop_provider_id(workspace, id).await?;
        }
        if !is_there && is_read {
            self.unsaw(workspace, conversation, contact, report.at).await?;
        }
        Ok(is_there)
    }

    /// Writes the change of the message's row. Returns `false` if there is no row.
    async fn merge_report(&self, seen: &Message, part: usize, report: &Report) -> Result<bool, StoreError> {
        let mut seen = seen.clone();
        loop {
            let Reported::Changed(next) = seen.reported(part, report, self.now()) else { return Ok(true) };
            match self.write(report_write(&next, part, seen.version)?).await? {
                Wrote::Done(_) => return Ok(true),
                Wrote::Refused(Some(found)) => seen = message(found)?,
                Wrote::Refused(None) => return Ok(false),
            }
        }
    }
}

/// The change of one part of a message, under the condition of the version as it was read.
fn report_write(next: &Message, part: usize, seen: u64) -> Result<Write, StoreError> {
    let mut item = message_item(next, None, "")?;
    let changed = match item.remove("parts") {
        Some(AttributeValue::L(mut parts)) if part < parts.len() => parts.swap_remove(part),
        _ => return Err(StoreError::Failed("a report about a part that is not in the row".into())),
    };
    let set = format!("SET parts[{part}] = :part, version = :version, updatedAt = :updatedAt");
    let home = key(keys::message(next.workspace_id, next.conversation, next.id));
    let write = Write::update(Table::Messages, home, set)
        .when("version = :seen")
        .bind(":seen", n(seen))
        .bind(":part", changed);
    let values = ["version", "updatedAt"].into_iter().filter_map(|name| Some((name, item.remove(name)?)));
    Ok(values.fold(write, |write, (name, value)| write.bind(format!(":{name}"), value)))
}
