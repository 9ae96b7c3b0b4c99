//! Reads: a row, a partition, many rows by their keys, rows of several tables in one call. They are strongly consistent,
//! if their names do not say otherwise.

use std::collections::{BTreeMap, HashMap, HashSet};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use futures::future::try_join_all;
use serde::de::DeserializeOwned;

use crate::dynamodb::item::{Item, PK, SK, is_live, key, read, s, text};
use crate::dynamodb::retry::RetryTime;
use crate::{Store, StoreError, Table};

/// The maximum number of keys in one batch read.
pub(crate) const MAX_KEYS: usize = 100;

/// Where a row is: its table and its key.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    table: Table,
    pk: String,
    sk: String,
    attributes: Option<&'static Attributes>,
}

/// The attributes of a row that are read, for rows with many others. An attribute costs a process about five thousand
/// instructions.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// A `ProjectionExpression`, with the keys, and with `expiresAt` if the table has a TTL: without it, an expired row
    /// counts as live.
    pub(crate) expression: &'static str,
    /// Its placeholders for names that DynamoDB reserves.
    pub(crate) names: &'static [(&'static str, &'static str)],
}

impl Attributes {
    fn names(&self) -> Option<HashMap<String, String>> {
        let names = self.names.iter().map(|(alias, name)| ((*alias).to_owned(), (*name).to_owned()));
        Some(names.collect()).filter(|names: &HashMap<_, _>| !names.is_empty())
    }
}

impl Place {
    /// The place of the row with this key.
    pub(crate) fn of(table: Table, (pk, sk): (String, impl Into<String>)) -> Self {
        Self { table, pk, sk: sk.into(), attributes: None }
    }

    /// The same place, of whose row only these attributes are needed.
    pub(crate) fn only(self, attributes: &'static Attributes) -> Self {
        Self { attributes: Some(attributes), ..self }
    }

    fn key(&self) -> (Table, Item) {
        (self.table, key(&self.pk, &self.sk))
    }

    fn is_of(&self, (table, row): &(Table, Item)) -> bool {
        self.table == *table && self.pk == text(row, PK) && self.sk == text(row, SK)
    }
}

/// How rows are read in batches.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    consistent: bool,
    /// The attributes that are read of all rows of a table.
    parts: &'a [(Table, &'static Attributes)],
}

impl Wanted<'_> {
    fn of(self, table: Table) -> Option<&'static Attributes> {
        self.parts.iter().find(|(of, _)| *of == table).map(|(_, attributes)| *attributes)
    }
}

/// For each table the attributes that are needed of its rows, if they are the same for all of them: a call names the
/// attributes once for each table.
fn parts(places: &[&Place]) -> Vec<(Table, &'static Attributes)> {
    let is_same = |place: &Place, of: &Place| match (place.attributes, of.attributes) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        _ => false,
    };
    let mut parts: Vec<(Table, &'static Attributes)> = vec![];
    for place in places {
        let is_new = parts.iter().all(|(table, _)| *table != place.table);
        if let Some(attributes) = place.attributes.filter(|_| is_new)
            && places.iter().all(|other| other.table != place.table || is_same(other, place))
        {
            parts.push((place.table, attributes));
        }
    }
    parts
}

/// These keys, each once.
fn distinct(mut keys: Vec<(Table, Item)>) -> Vec<(Table, Item)> {
    let mut named = HashSet::with_capacity(keys.len());
    let is_new = keys.iter().map(|(table, key)| named.insert((*table, text(key, PK), text(key, SK))));
    let mut is_new = is_new.collect::<Vec<_>>().into_iter();
    keys.retain(|_| is_new.next() == Some(true));
    keys
}

/// The rows that [`Store::rows_at`] found. A row is looked for among all of them: a request names few places.
#[derive(Debug)]
pub(crate) struct Rows(Vec<(Table, Item)>);

impl Rows {
    /// The row at this place, if it was found and not taken.
    pub(crate) fn get(&self, place: &Place) -> Option<&Item> {
        self.0.iter().find(|row| place.is_of(row)).map(|(_, item)| item)
    }

    /// Takes the row at this place, if it was found.
    pub(crate) fn take(&mut self, place: &Place) -> Option<Item> {
        let at = self.0.iter().position(|row| place.is_of(row))?;
        Some(self.0.swap_remove(at).1)
    }

    /// All rows that were not taken, in no particular order.
    pub(crate) fn into_items(self) -> impl Iterator<Item = Item> {
        self.0.into_iter().map(|(_, item)| item)
    }

    /// Takes the row at this place, if it was found, as its struct.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, place: &Place) -> Result<Option<T>, StoreError> {
        self.take(place).map(read).transpose()
    }
}

impl Store {
    /// One row (strongly consistent read), unless it has expired. One round trip.
    pub(crate) async fn get_row<T: DeserializeOwned>(
        &self,
        table: Table,
        key: (String, impl Into<String>),
    ) -> Result<Option<T>, StoreError> {
        self.get_item(table, key).await?.map(read).transpose()
    }

    /// The same, as an item.
    pub(crate) async fn get_item(
        &self,
        table: Table,
        key: (String, impl Into<String>),
    ) -> Result<Option<Item>, StoreError> {
        self.get(table, key, None).await
    }

    async fn get(
        &self,
        table: Table,
        (pk, sk): (String, impl Into<String>),
        attributes: Option<&Attributes>,
    ) -> Result<Option<Item>, StoreError> {
        let get = self.db.get_item().table_name(self.tables.name(table)).set_key(Some(key(pk, sk)));
        let get = get
            .set_projection_expression(attributes.map(|part| part.expression.to_owned()))
            .set_expression_attribute_names(attributes.and_then(Attributes::names))
            .consistent_read(true);
        let answer = Box::pin(get.send()).await?;
        Ok(answer.item.filter(|item| is_live(item, self.now())))
    }

    /// All rows of a partition (strongly consistent read). One round trip for each megabyte.
    pub(crate) async fn partition<T: DeserializeOwned>(
        &self,
        table: Table,
        pk: String,
    ) -> Result<Vec<T>, StoreError> {
        self.partition_items(table, pk).await?.into_iter().map(read).collect()
    }

    /// The same, as items, for a partition with rows of several kinds.
    pub(crate) async fn partition_items(&self, table: Table, pk: String) -> Result<Vec<Item>, StoreError> {
        let (mut rows, mut from) = (vec![], None);
        loop {
            let (items, next) = self.partition_page(table, &pk, from).await?;
            rows.extend(items);
            from = next;
            if from.is_none() {
                return Ok(rows);
            }
        }
    }

    /// The live rows at these places, all in one call (strongly consistent reads). Each call costs a process more than
    /// all that it does with a few rows, so a request reads everything that it knows to need together. One round trip;
    /// none without places.
    pub(crate) async fn rows_at(&self, places: &[&Place]) -> Result<Rows, StoreError> {
        if let [place] = places {
            let row = self.get(place.table, (place.pk.clone(), &place.sk), place.attributes).await?;
            return Ok(Rows(row.map(|row| (place.table, row)).into_iter().collect()));
        }
        let (keys, now) = (places.iter().map(|place| place.key()).collect(), self.now());
        let wanted = Wanted { consistent: true, parts: &parts(places) };
        let mut rows = self.rows(keys, wanted).await?;
        rows.retain(|(_, row)| is_live(row, now));
        Ok(Rows(rows))
    }

    /// The rows with these keys (strongly consistent read), each once, in no particular order. One round trip; more
    /// only while the table leaves some or all of the keys unprocessed.
    pub(crate) async fn batch_items(&self, table: Table, keys: Vec<Item>) -> Result<Vec<Item>, StoreError> {
        let keys = keys.into_iter().map(|key| (table, key)).collect();
        Ok(self.rows_of(keys).await?.into_iter().map(|(_, item)| item).collect())
    }

    /// The same by an eventually consistent read, which costs half: the rows are mostly less than a second old.
    pub(crate) async fn batch_items_eventual(
        &self,
        table: Table,
        keys: Vec<Item>,
    ) -> Result<Vec<Item>, StoreError> {
        let keys = keys.into_iter().map(|key| (table, key)).collect();
        Ok(self
            .rows(keys, Wanted { consistent: false, parts: &[] })
            .await?
            .into_iter()
            .map(|(_, item)| item)
            .collect())
    }

    /// The rows with these keys in several tables (strongly consistent read), each once, in no particular order. A
    /// key may be repeated here; DynamoDB refuses a call that repeats one. One round trip; more only while the tables
    /// leave some of the keys unprocessed.
    pub(crate) async fn rows_of(&self, keys: Vec<(Table, Item)>) -> Result<Vec<(Table, Item)>, StoreError> {
        self.rows(keys, Wanted { consistent: true, parts: &[] }).await
    }

    async fn rows(
        &self,
        keys: Vec<(Table, Item)>,
        how: Wanted<'_>,
    ) -> Result<Vec<(Table, Item)>, StoreError> {
        let mut left = distinct(keys);
        let mut batches = vec![];
        while !left.is_empty() {
            let more = left.split_off(left.len().min(MAX_KEYS));
            batches.push(self.whole_batch(left, how));
            left = more;
        }
        Ok(try_join_all(batches).await?.into_iter().flatten().collect())
    }

    /// The rows for as many keys as one call takes, each with its table.
    async fn whole_batch(
        &self,
        keys: Vec<(Table, Item)>,
        how: Wanted<'_>,
    ) -> Result<Vec<(Table, Item)>, StoreError> {
        let (mut rows, mut wanted) = (vec![], keys);
        let mut retries = RetryTime::new(self);
        while !wanted.is_empty() {
            let (items, left) = self.batch(wanted, how).await?;
            if items.is_empty() && !left.is_empty() {
                retries.wait().await?;
            }
            rows.extend(items);
            wanted = left;
        }
        Ok(rows)
    }

    /// One batch read: the rows that were found, and the keys that were not processed.
    async fn batch(
        &self,
        keys: Vec<(Table, Item)>,
        how: Wanted<'_>,
    ) -> Result<(Vec<(Table, Item)>, Vec<(Table, Item)>), StoreError> {
        let mut tables: BTreeMap<Table, Vec<Item>> = BTreeMap::new();
        for (table, key) in keys {
            tables.entry(table).or_default().push(key);
        }
        let named: Vec<Table> = tables.keys().copied().collect();
        let mut call = self.db.batch_get_item();
        for (table, keys) in tables {
            let attributes = how.of(table);
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .set_projection_expression(attributes.map(|part| part.expression.to_owned()))
                .set_expression_attribute_names(attributes.and_then(Attributes::names))
                .consistent_read(how.consistent)
                .build();
            let wanted = wanted.map_err(|error| StoreError::Failed(Box::new(error)))?;
            call = call.request_items(self.tables.name(table), wanted);
        }
        let answer = Box::pin(call.send()).await?;
        let (mut found, mut unread) =
            (answer.responses.unwrap_or_default(), answer.unprocessed_keys.unwrap_or_default());
        let (mut items, mut left) = (vec![], vec![]);
        for table in named {
            let name = self.tables.name(table);
            items.extend(found.remove(name).unwrap_or_default().into_iter().map(|item| (table, item)));
            let keys = unread.remove(name).map(|unread| unread.keys).unwrap_or_default();
            left.extend(keys.into_iter().map(|key| (table, key)));
        }
        Ok((items, left))
    }

    async fn partition_page(
        &self,
        table: Table,
        pk: &str,
        from: Option<Item>,
    ) -> Result<(Vec<Item>, Option<Item>), StoreError> {
        let values: [(&str, AttributeValue); 1] = [(":pk", s(pk))];
        let query = self
            .db
            .query()
            .table_name(self.tables.name(table))
            .key_condition_expression(format!("{PK} = :pk"))
            .set_expression_attribute_values(Some(
                values.map(|(name, value)| (name.to_owned(), value)).into(),
            ))
            .set_exclusive_start_key(from)
            .consistent_read(true);
        let answer = Box::pin(query.send()).await?;
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }
}
