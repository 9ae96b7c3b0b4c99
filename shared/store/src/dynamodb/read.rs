//! All reads of the tables: a row, rows of several tables in one call, a query. They are strongly consistent, except those of
//! an index and [`Store::rows_at_eventually`]. Rows that have expired are absent.

use std::collections::{BTreeMap, HashMap, HashSet};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use futures::future::try_join_all;

use crate::dynamodb::fields::Stored;
use crate::dynamodb::item::{EXPIRES_AT, Item, PK, SK, key, number, read, s, text};
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
    /// A `ProjectionExpression`, with the keys.
    pub(crate) expression: &'static str,
    /// Its placeholders for names that DynamoDB reserves.
    pub(crate) names: &'static [(&'static str, &'static str)],
}

impl Attributes {
    /// The projection. Without `expiresAt`, an expired row would count as live. An index has the attributes that it
    /// projects, and refuses others.
    fn projection(&self, index: Option<&str>) -> String {
        match index {
            None => format!("{}, {EXPIRES_AT}", self.expression),
            Some(_) => self.expression.to_owned(),
        }
    }

    fn names(&self) -> HashMap<String, String> {
        self.names.iter().map(|(alias, name)| ((*alias).to_owned(), (*name).to_owned())).collect()
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

    /// The table and the key.
    pub(crate) fn key(&self) -> (Table, Item) {
        (self.table, key((&self.pk, &self.sk)))
    }

    fn is_of(&self, (table, row): &(Table, Item)) -> bool {
        self.table == *table && self.pk == text(row, PK) && self.sk == text(row, SK)
    }
}

/// How rows are read.
#[derive(Clone, Copy)]
struct How {
    consistent: bool,
    with_expired: bool,
}

/// The read of almost all callers.
const LIVE_ROWS: How = How { consistent: true, with_expired: false };

/// A query: rows of one partition of a table or an index, in the order of their sort keys.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    table: Table,
    index: Option<&'static str>,
    condition: String,
    filter: Option<String>,
    attributes: Option<&'static Attributes>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
    limit: Option<usize>,
    is_backward: bool,
    after: Option<Item>,
    with_expired: bool,
}

/// The rows that one call of a query found.
#[derive(Debug)]
pub(crate) struct QueryPage {
    pub(crate) items: Vec<Item>,
    /// The key of the last row that was read, also if that row has expired or the filter excludes it. `None` if no rows
    /// are left.
    pub(crate) next: Option<Item>,
}

impl Query {
    /// All rows of a partition of a table. The read is strongly consistent.
    pub(crate) fn of(table: Table, pk: impl Into<String>) -> Self {
        Self::by(table, None, PK, pk)
    }

    /// All rows with this hash key in the table or in an index. Reads of an index are eventually consistent, and see only
    /// what the index projects: if that is not `expiresAt`, expired rows are found too.
    pub(crate) fn by(
        table: Table,
        index: Option<&'static str>,
        hash_key: &str,
        value: impl Into<String>,
    ) -> Self {
        Self {
            table,
            index,
            condition: format!("{hash_key} = :pk"),
            filter: None,
            attributes: None,
            names: HashMap::new(),
            values: HashMap::from([(":pk".to_owned(), s(value))]),
            limit: None,
            is_backward: false,
            after: None,
            with_expired: false,
        }
    }

    /// Only rows whose sort key fulfils a condition.
    pub(crate) fn range(mut self, condition: &str) -> Self {
        self.condition = format!("{} AND {condition}", self.condition);
        self
    }

    /// Only rows whose sort key begins with this.
    pub(crate) fn begins_with(self, prefix: impl Into<String>) -> Self {
        self.range("begins_with(sk, :prefix)").bind(":prefix", s(prefix))
    }

    /// Only rows whose sort key is between these, or one of them.
    pub(crate) fn between(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.range("sk BETWEEN :from AND :to").bind(":from", s(from)).bind(":to", s(to))
    }

    /// Only rows that fulfil a condition on other attributes. The other rows cost as much as those that are returned.
    pub(crate) fn filter(mut self, condition: impl Into<String>) -> Self {
        self.filter = Some(condition.into());
        self
    }

    /// Binds a `:placeholder` of a condition to a value.
    pub(crate) fn bind(mut self, placeholder: impl Into<String>, value: AttributeValue) -> Self {
        self.values.insert(placeholder.into(), value);
        self
    }

    /// Binds a `#placeholder` of a condition to an attribute whose name DynamoDB reserves.
    pub(crate) fn name(mut self, placeholder: &str, attribute: &str) -> Self {
        self.names.insert(placeholder.to_owned(), attribute.to_owned());
        self
    }

    /// Only these attributes of the rows.
    pub(crate) fn only(mut self, attributes: Option<&'static Attributes>) -> Self {
        self.attributes = attributes;
        self
    }

    /// The maximum number of rows that one call reads, with those that are then left out.
    pub(crate) fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// From the last row to the first.
    pub(crate) fn backward(mut self) -> Self {
        self.is_backward = true;
        self
    }

    /// Only rows after this one: [`QueryPage::next`] of the previous call.
    pub(crate) fn after(mut self, last: Option<Item>) -> Self {
        self.after = last;
        self
    }

    /// Also the rows that have expired and that DynamoDB has not deleted yet. Only for an export or an erasure of a person:
    /// these rows still hold the person's data.
    pub(crate) fn with_expired(mut self) -> Self {
        self.with_expired = true;
        self
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
    pub(crate) fn read<T: Stored>(&mut self, place: &Place) -> Result<Option<T>, StoreError> {
        self.take(place).map(read).transpose()
    }
}

/// The only code that calls the read operations of DynamoDB (`shared/store/tests/it/reads.rs`). So a row whose time is over is
/// left out here, and nowhere else.
impl Store {
    /// One row (strongly consistent read). One round trip.
    pub(crate) async fn get_row<T: Stored>(
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
        self.get(Place::of(table, key), LIVE_ROWS).await
    }

    /// The rows at these places, each once, all in one call (strongly consistent reads). Each call costs a process more
    /// than all that it does with a few rows, so a request reads everything that it knows to need together. One round
    /// trip for each 100 rows, all at the same time; more only while the tables leave some unprocessed. None without
    /// places.
    pub(crate) async fn rows_at<'a>(
        &self,
        places: impl IntoIterator<Item = &'a Place>,
    ) -> Result<Rows, StoreError> {
        Box::pin(self.rows(places.into_iter().collect(), LIVE_ROWS)).await
    }

    /// The same by eventually consistent reads, which cost half: the rows are mostly less than a second old.
    pub(crate) async fn rows_at_eventually<'a>(
        &self,
        places: impl IntoIterator<Item = &'a Place>,
    ) -> Result<Rows, StoreError> {
        Box::pin(self.rows(places.into_iter().collect(), How { consistent: false, ..LIVE_ROWS })).await
    }

    /// The same with the rows that have expired and that DynamoDB has not deleted yet: see [`Query::with_expired`].
    pub(crate) async fn rows_and_expired_at<'a>(
        &self,
        places: impl IntoIterator<Item = &'a Place>,
    ) -> Result<Rows, StoreError> {
        Box::pin(self.rows(places.into_iter().collect(), How { with_expired: true, ..LIVE_ROWS })).await
    }

    /// All rows of a partition (strongly consistent read). One round trip for each megabyte.
    pub(crate) async fn partition<T: Stored>(&self, table: Table, pk: String) -> Result<Vec<T>, StoreError> {
        self.query_all(Query::of(table, pk)).await?.into_iter().map(read).collect()
    }

    /// All rows of a query. One round trip for each megabyte.
    pub(crate) async fn query_all(&self, query: Query) -> Result<Vec<Item>, StoreError> {
        let mut page = self.query(query.clone()).await?;
        let mut rows = page.items;
        while page.next.is_some() {
            page = self.query(query.clone().after(page.next)).await?;
            rows.append(&mut page.items);
        }
        Ok(rows)
    }

    /// The next rows of a query. One round trip.
    pub(crate) async fn query(&self, query: Query) -> Result<QueryPage, StoreError> {
        let with_expired = query.with_expired;
        let consistent = query.index.is_none();
        let projection = query.attributes.map(|only| only.projection(query.index));
        let mut names = query.names;
        names.extend(query.attributes.map(Attributes::names).unwrap_or_default());
        let call = self
            .db
            .query()
            .table_name(self.tables.name(query.table))
            .set_index_name(query.index.map(str::to_owned))
            .key_condition_expression(query.condition)
            .set_filter_expression(query.filter)
            .set_projection_expression(projection)
            .set_expression_attribute_names(Some(names).filter(|names| !names.is_empty()))
            .set_expression_attribute_values(Some(query.values))
            .set_limit(query.limit.map(|rows| i32::try_from(rows).unwrap_or(i32::MAX)))
            .set_scan_index_forward(query.is_backward.then_some(false))
            .set_exclusive_start_key(query.after)
            .consistent_read(consistent);
        let answer = Box::pin(call.send()).await?;
        let mut items = answer.items.unwrap_or_default();
        self.leave_out_expired(&mut items, |item| item, with_expired);
        Ok(QueryPage { items, next: answer.last_evaluated_key })
    }

    /// Removes the rows whose time is over. DynamoDB deletes them late, up to some days.
    fn leave_out_expired<T>(&self, rows: &mut Vec<T>, item: impl Fn(&T) -> &Item, with_expired: bool) {
        let now = self.now().as_seconds();
        let is_live = |item: &Item| item.get(EXPIRES_AT).is_none_or(|at| number(at) >= now);
        rows.retain(|row| with_expired || is_live(item(row)));
    }

    async fn get(&self, place: Place, how: How) -> Result<Option<Item>, StoreError> {
        let Place { table, pk, sk, attributes } = place;
        let get = self
            .db
            .get_item()
            .table_name(self.tables.name(table))
            .set_key(Some(key((pk, sk))))
            .set_projection_expression(attributes.map(|only| only.projection(None)))
            .set_expression_attribute_names(
                attributes.map(Attributes::names).filter(|names| !names.is_empty()),
            )
            .consistent_read(how.consistent);
        let answer = Box::pin(get.send()).await?;
        let mut found: Vec<Item> = answer.item.into_iter().collect();
        self.leave_out_expired(&mut found, |item| item, how.with_expired);
        Ok(found.pop())
    }

    async fn rows(&self, mut places: Vec<&Place>, how: How) -> Result<Rows, StoreError> {
        if let [place] = places[..] {
            let row = self.get(place.clone(), how).await?;
            return Ok(Rows(row.map(|row| (place.table, row)).into_iter().collect()));
        }
        let parts = parts(&places);
        // DynamoDB refuses a call that names a row twice.
        let mut named = HashSet::with_capacity(places.len());
        places.retain(|place| named.insert((place.table, &place.pk, &place.sk)));
        let batches = places.chunks(MAX_KEYS).map(|places| self.whole_batch(places, &parts, how));
        let mut rows: Vec<_> = try_join_all(batches).await?.into_iter().flatten().collect();
        self.leave_out_expired(&mut rows, |(_, item)| item, how.with_expired);
        Ok(Rows(rows))
    }

    /// The rows at as many places as one call takes, each with its table.
    async fn whole_batch(
        &self,
        places: &[&Place],
        parts: &[(Table, &'static Attributes)],
        how: How,
    ) -> Result<Vec<(Table, Item)>, StoreError> {
        let (mut rows, mut wanted) = (vec![], places.iter().map(|place| place.key()).collect::<Vec<_>>());
        let mut retries = RetryTime::new(self);
        while !wanted.is_empty() {
            let (items, left) = self.batch(wanted, parts, how).await?;
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
        parts: &[(Table, &'static Attributes)],
        how: How,
    ) -> Result<(Vec<(Table, Item)>, Vec<(Table, Item)>), StoreError> {
        let mut tables: BTreeMap<Table, Vec<Item>> = BTreeMap::new();
        for (table, key) in keys {
            tables.entry(table).or_default().push(key);
        }
        let named: Vec<Table> = tables.keys().copied().collect();
        let mut call = self.db.batch_get_item();
        for (table, keys) in tables {
            let attributes = parts.iter().find(|(of, _)| *of == table).map(|(_, attributes)| *attributes);
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .set_projection_expression(attributes.map(|only| only.projection(None)))
                .set_expression_attribute_names(
                    attributes.map(Attributes::names).filter(|names| !names.is_empty()),
                )
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
}
