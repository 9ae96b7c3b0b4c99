//! Follows the changes of a workspace's rows as they happen, through the read API of the tables' streams. Nothing
//! is written.
//!
//! A stream consists of shards. A shard ends after some hours, or when its partition is split, and its children
//! continue it.

use std::collections::HashSet;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType, StreamRecord};
use domain::{Timestamp, WorkspaceId};
use futures::future::{join_all, try_join_all};
use serde_dynamo::{AttributeValue, Item};

use crate::dynamodb::item::PK;
use crate::{Store, StoreError, Table};

/// A change of a row, as its stream record shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    /// `INSERT`, `MODIFY` or `REMOVE`.
    pub name: String,
    /// The row before the change; empty if the row is new.
    pub old: Item,
    /// The row after the change; empty if the row was deleted.
    pub new: Item,
}

/// The changes since the last look.
#[derive(Debug)]
pub struct Changes {
    /// The changes of each shard in order. Changes of one row are in order.
    pub rows: Vec<RowChange>,
    /// Why shards could not be read, one cause. The next look reads them from where they are.
    pub failed: Option<StoreError>,
}

/// The streams of a deployment's tables.
#[derive(Clone, Debug)]
pub struct Streams(Client);

impl Streams {
    /// The streams that this client reads.
    pub fn new(client: Client) -> Self {
        Self(client)
    }
}

/// Follows the changes of contacts, conversations, messages, leads and webhook endpoints.
pub struct ChangeFeed {
    client: Client,
    /// When the feed began.
    since: Timestamp,
    streams: Vec<Stream>,
}

/// The tables whose changes are events.
const TABLES: [Table; 5] =
    [Table::Contacts, Table::Conversations, Table::Messages, Table::Leads, Table::Workspaces];
/// How many looks go by until the shards are listed again. A shard that ended causes a list at once.
const LIST_EVERY: u32 = 10;

impl ChangeFeed {
    /// Begins with the changes from now on. Three round trips.
    pub async fn open(store: &Store, Streams(client): Streams) -> Result<Self, StoreError> {
        let since = store.now();
        let streams = TABLES.map(async |table| {
            let name = store.tables.name(table);
            let described = store.db.describe_table().table_name(name).send().await?;
            let arn = described.table.and_then(|table| table.latest_stream_arn);
            let arn = arn.ok_or_else(|| StoreError::Failed(format!("table {name} has no stream").into()))?;
            let mut stream = Stream::new(arn);
            stream.list(&client).await?;
            // The first look has nothing to read yet. It fixes the places from which the later looks read.
            let places = stream.shards.iter_mut().map(|shard| shard.take_place(&client, &stream.arn));
            try_join_all(places).await?;
            Ok::<_, StoreError>(stream)
        });
        Ok(Self { streams: try_join_all(streams).await?, client, since })
    }

    /// The workspace's changes since the last look. One round trip; more after a shard ended, and every tenth time.
    pub async fn look(&mut self, workspace: WorkspaceId) -> Changes {
        let (client, since) = (&self.client, self.since);
        let looks = join_all(self.streams.iter_mut().map(|stream| stream.look(client, since))).await;
        let (mut rows, mut failed) = (vec![], None);
        for (records, failure) in looks {
            rows.extend(records.into_iter().filter_map(|record| change(record, workspace)));
            failed = failed.or(failure);
        }
        Changes { rows, failed }
    }
}

/// The change that a record shows, if the row is of this workspace.
fn change(record: Record, workspace: WorkspaceId) -> Option<RowChange> {
    let StreamRecord { keys, old_image, new_image, .. } = record.dynamodb?;
    let Some(AttributeValue::S(pk)) = keys?.remove(PK).map(AttributeValue::from) else { return None };
    let is_ours = pk.strip_prefix(&workspace.to_string()).is_some_and(|rest| rest.starts_with('#'));
    let image = |image: Option<_>| Item::from(image.unwrap_or_default());
    let name = record.event_name?.as_str().to_owned();
    is_ours.then(|| RowChange { name, old: image(old_image), new: image(new_image) })
}

/// The stream of a table.
struct Stream {
    arn: String,
    /// The shards that were listed so far.
    known: HashSet<String>,
    /// The shards that have not ended.
    shards: Vec<Shard>,
    /// How many looks are left until the next list.
    list_in: u32,
}

/// A shard in a list, with the shard that it continues.
#[derive(Clone)]
struct Listed {
    id: String,
    parent: Option<String>,
}

struct Shard {
    listed: Listed,
    place: ShardPosition,
    /// The iterator at this place. It lives for 15 minutes.
    iterator: Option<String>,
    is_over: bool,
}

/// Where a shard is read next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ShardPosition {
    /// At its end, as it was when the feed began.
    End,
    /// At its beginning.
    Beginning,
    /// At its beginning, without the records that are older than the feed.
    SinceTheFeed,
    /// After the record with this number.
    After(String),
}

impl Stream {
    fn new(arn: String) -> Self {
        Self { arn, known: HashSet::new(), shards: vec![], list_in: 0 }
    }

    /// The records since the last look, and why some shards could not be read.
    async fn look(&mut self, client: &Client, since: Timestamp) -> (Vec<Record>, Option<StoreError>) {
        let listed = if self.list_in == 0 { self.list(client).await } else { Ok(()) };
        self.list_in = self.list_in.saturating_sub(1);
        let arn = self.arn.clone();
        let reads = self.readable().map(|shard| shard.read(client, &arn, since));
        let (mut records, mut failed) = (vec![], listed.err());
        for read in join_all(reads).await {
            match read {
                Ok(found) => records.extend(found),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.forget_ended();
        (records, failed)
    }

    /// Lists the shards. One round trip for each hundred.
    async fn list(&mut self, client: &Client) -> Result<(), StoreError> {
        let (mut found, mut after) = (vec![], None);
        loop {
            let ask = client.describe_stream().stream_arn(&self.arn).set_exclusive_start_shard_id(after);
            let Some(page) = ask.send().await?.stream_description else { break };
            found.extend(
                page.shards
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|shard| Some(Listed { id: shard.shard_id?, parent: shard.parent_shard_id })),
            );
            after = page.last_evaluated_shard_id;
            if after.is_none() {
                break;
            }
        }
        self.add(&found);
        Ok(())
    }

    /// Adds the shards that are new: in the first list, those that no other shard continues, from their ends; later
    /// all, from their beginnings.
    fn add(&mut self, found: &[Listed]) {
        let is_first = self.known.is_empty();
        for listed in found {
            let is_continued = || found.iter().any(|other| other.parent.as_ref() == Some(&listed.id));
            if !self.known.insert(listed.id.clone()) || (is_first && is_continued()) {
                continue;
            }
            let place = if is_first { ShardPosition::End } else { ShardPosition::Beginning };
            self.shards.push(Shard { listed: listed.clone(), place, iterator: None, is_over: false });
        }
        self.list_in = LIST_EVERY;
    }

    /// The shards to read. A shard waits until the one that it continues has ended, so that changes stay in order.
    fn readable(&mut self) -> impl Iterator<Item = &mut Shard> {
        let open: HashSet<String> = self.shards.iter().map(|shard| shard.listed.id.clone()).collect();
        self.shards
            .iter_mut()
            .filter(move |shard| shard.listed.parent.as_ref().is_none_or(|parent| !open.contains(parent)))
    }

    /// Removes the shards that ended. Their children may not be listed yet.
    fn forget_ended(&mut self) {
        let before = self.shards.len();
        self.shards.retain(|shard| !shard.is_over);
        if self.shards.len() < before {
            self.list_in = 0;
        }
    }
}

impl Shard {
    /// The next records. One round trip, or two if there is no iterator.
    async fn read(
        &mut self,
        client: &Client,
        arn: &str,
        since: Timestamp,
    ) -> Result<Vec<Record>, StoreError> {
        // The second time is for a place that was lost.
        for _ in 0..2 {
            self.take_place(client, arn).await?;
            let Some(iterator) = self.iterator.take() else { break };
            let error = match client.get_records().shard_iterator(&iterator).send().await {
                Ok(answer) => {
                    let records = answer.records.unwrap_or_default();
                    self.iterator = answer.next_shard_iterator;
                    self.is_over = self.iterator.is_none();
                    return Ok(self.passed(records, since));
                }
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(cause) if cause.is_expired_iterator_exception() => self.lost_iterator(),
                Some(cause) if cause.is_trimmed_data_access_exception() => {
                    self.place = ShardPosition::Beginning
                }
                _ => {
                    self.iterator = Some(iterator);
                    return Err(error.into());
                }
            }
        }
        Ok(vec![])
    }

    /// Gets an iterator at the place of this shard, if it has none. One round trip.
    async fn take_place(&mut self, client: &Client, arn: &str) -> Result<(), StoreError> {
        if self.iterator.is_some() {
            return Ok(());
        }
        let (kind, number) = match &self.place {
            ShardPosition::End => (ShardIteratorType::Latest, None),
            ShardPosition::Beginning | ShardPosition::SinceTheFeed => (ShardIteratorType::TrimHorizon, None),
            ShardPosition::After(number) => (ShardIteratorType::AfterSequenceNumber, Some(number.clone())),
        };
        let ask = client.get_shard_iterator().stream_arn(arn).shard_id(&self.listed.id);
        let answer = ask.shard_iterator_type(kind).set_sequence_number(number).send().await;
        self.iterator = match answer {
            Ok(answer) => answer.shard_iterator,
            // DynamoDB keeps records for 24 hours.
            Err(error)
                if error.as_service_error().is_some_and(|cause| cause.is_trimmed_data_access_exception()) =>
            {
                self.place = ShardPosition::Beginning;
                None
            }
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    /// The iterator expired: nobody looked for 15 minutes. If no record was read yet, those since the beginning of
    /// the feed are to be read.
    fn lost_iterator(&mut self) {
        if self.place == ShardPosition::End {
            self.place = ShardPosition::SinceTheFeed;
        }
    }

    /// Notes the records as read.
    fn passed(&mut self, mut records: Vec<Record>, since: Timestamp) -> Vec<Record> {
        let last = records.last().and_then(|record| record.dynamodb.as_ref()?.sequence_number.clone());
        if self.place == ShardPosition::SinceTheFeed {
            records.retain(|record| !is_older(record, since));
        }
        if let Some(number) = last {
            self.place = ShardPosition::After(number);
        }
        records
    }
}

/// Whether a record is older than this moment. Its time is rounded to the second.
fn is_older(record: &Record, than: Timestamp) -> bool {
    let at = record.dynamodb.as_ref().and_then(|change| change.approximate_creation_date_time);
    at.is_some_and(|at| at.secs() < than.as_seconds())
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodbstreams::primitives::DateTime;

    use super::*;

    fn listed(shards: &[(&str, Option<&str>)]) -> Vec<Listed> {
        let shard = |(id, parent): &(&str, Option<&str>)| Listed {
            id: (*id).to_owned(),
            parent: parent.map(str::to_owned),
        };
        shards.iter().map(shard).collect()
    }

    fn readable(stream: &mut Stream) -> Vec<(String, ShardPosition)> {
        stream.readable().map(|shard| (shard.listed.id.clone(), shard.place.clone())).collect()
    }

    fn at(id: &str, place: ShardPosition) -> (String, ShardPosition) {
        (id.to_owned(), place)
    }

    #[test]
    fn the_first_list_begins_at_the_ends_of_the_shards_that_no_other_continues() {
        let mut stream = Stream::new(String::new());
        stream.add(&listed(&[("old", Some("trimmed")), ("left", Some("old")), ("right", Some("old"))]));
        assert_eq!(readable(&mut stream), [at("left", ShardPosition::End), at("right", ShardPosition::End)]);
    }

    #[test]
    fn a_new_shard_is_read_from_its_beginning_after_the_one_that_it_continues() {
        let mut stream = Stream::new(String::new());
        stream.add(&listed(&[("one", None)]));
        let later = listed(&[("one", None), ("two", Some("one")), ("three", Some("two"))]);
        stream.add(&later);
        assert_eq!(readable(&mut stream), [at("one", ShardPosition::End)]);

        let mut end_first = || {
            stream.shards[0].is_over = true;
            stream.forget_ended();
            assert_eq!(stream.list_in, 0, "the children must be listed at once");
            stream.add(&later);
            readable(&mut stream)
        };
        assert_eq!(end_first(), [at("two", ShardPosition::Beginning)]);
        assert_eq!(end_first(), [at("three", ShardPosition::Beginning)]);
        assert_eq!(end_first(), [], "a shard that was read must not come again");
    }

    #[test]
    fn a_lost_iterator_continues_after_the_last_record_or_at_the_beginning_of_the_feed() {
        let since = Timestamp::from_millis(1_767_323_045_678);
        let record = |number: &str, seconds| {
            let change = StreamRecord::builder()
                .sequence_number(number)
                .approximate_creation_date_time(DateTime::from_secs(seconds))
                .build();
            Record::builder().dynamodb(change).build()
        };
        let mut stream = Stream::new(String::new());
        stream.add(&listed(&[("one", None)]));
        let shard = &mut stream.shards[0];
        assert_eq!(shard.passed(vec![], since), []);
        shard.lost_iterator();
        assert_eq!(shard.place, ShardPosition::SinceTheFeed);

        let found = shard.passed(vec![record("1", 1_767_323_044), record("2", 1_767_323_045)], since);
        assert_eq!(found, [record("2", 1_767_323_045)], "a record that is older than the feed was returned");
        assert_eq!(shard.place, ShardPosition::After("2".to_owned()));
        shard.lost_iterator();
        assert_eq!(shard.place, ShardPosition::After("2".to_owned()));
    }
}
