//! Conditional writes, single ones and transactions.
//!
//! A refused condition is a result, not an error. It returns the row that was found, so a caller recognises
//! its own earlier attempt by `lastRequest` ([`is_written_by`]): the SDK repeats a write whose answer was
//! lost, and the first write makes the condition of the repeat fail. A conflict with another transaction is
//! retried here, with a new token each time, because the SDK does not retry it.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, ReturnValue,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};

use crate::dynamodb::item::{Item, PK, SK, text};
use crate::dynamodb::retry::RetryTime;
use crate::{Store, StoreError, Table};

/// The attribute that stores the id of the write that last changed the row. The id begins with the id of the
/// API request, if the write is for one ([`Store::write_id`]).
pub(crate) const LAST_REQUEST: &str = "lastRequest";

impl Store {
    /// An id for a write of an API request. Writes without an API request use a random id alone.
    pub fn write_id(&self, request: &str) -> String {
        format!("{request}/{}", self.ids.next())
    }
}

/// The API request of a write id, if there is one.
pub(crate) fn request_of(write_id: &str) -> Option<&str> {
    write_id.split_once('/').map(|(request, _)| request).filter(|request| !request.is_empty())
}

/// One write, on its own ([`Store::write`]) or as part of a transaction ([`Store::transact`]).
#[derive(Clone, Debug)]
pub(crate) struct Write {
    table: Table,
    action: Action,
    condition: Option<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
    returning_new: bool,
}

#[derive(Clone, Debug)]
enum Action {
    Put(Item),
    Update {
        key: Item,
        expression: String,
    },
    Delete {
        key: Item,
    },
    /// Only the condition. Only in a transaction.
    Check {
        key: Item,
    },
}

impl Write {
    /// Puts a whole row and replaces any row with the same keys.
    pub(crate) fn put(table: Table, row: Item) -> Self {
        Self::new(table, Action::Put(row))
    }

    /// Changes attributes of a row, and creates the row if there is none.
    pub(crate) fn update(table: Table, key: Item, expression: impl Into<String>) -> Self {
        Self::new(table, Action::Update { key, expression: expression.into() })
    }

    /// Deletes a row, if there is one.
    pub(crate) fn delete(table: Table, key: Item) -> Self {
        Self::new(table, Action::Delete { key })
    }

    /// Changes nothing: the transaction is refused if the condition does not hold. It costs as much as a write.
    pub(crate) fn check(table: Table, key: Item, condition: impl Into<String>) -> Self {
        Self::new(table, Action::Check { key }).when(condition)
    }

    /// Sets the condition on the row before the write.
    pub(crate) fn when(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// Adds a condition: the earlier one must hold too.
    pub(crate) fn also_when(self, condition: &str) -> Self {
        let both = match &self.condition {
            Some(earlier) => format!("({earlier}) AND {condition}"),
            None => condition.to_owned(),
        };
        self.when(both)
    }

    /// Sets the condition that there is no row with these keys.
    pub(crate) fn when_absent(self) -> Self {
        self.when("attribute_not_exists(pk)")
    }

    /// Binds a `:placeholder` of an expression to a value.
    pub(crate) fn bind(mut self, placeholder: impl Into<String>, value: AttributeValue) -> Self {
        self.values.insert(placeholder.into(), value);
        self
    }

    /// Binds a `#placeholder` of an expression to an attribute whose name DynamoDB reserves.
    pub(crate) fn name(mut self, placeholder: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.names.insert(placeholder.into(), attribute.into());
        self
    }

    /// Returns the whole row after an update. Not in a transaction.
    pub(crate) fn returning_new(mut self) -> Self {
        self.returning_new = true;
        self
    }

    /// The table and the key of the row.
    fn place(&self) -> (Table, &str, &str) {
        let (Action::Put(row)
        | Action::Update { key: row, .. }
        | Action::Delete { key: row }
        | Action::Check { key: row }) = &self.action;
        (self.table, text(row, PK), text(row, SK))
    }

    fn new(table: Table, action: Action) -> Self {
        Self {
            table,
            action,
            condition: None,
            names: HashMap::new(),
            values: HashMap::new(),
            returning_new: false,
        }
    }
}

/// The result of one write.
#[derive(Debug, PartialEq)]
pub(crate) enum Wrote {
    /// The write is done. The row is included if [`Write::returning_new`] was called.
    Done(Item),
    /// The condition did not hold for the row that was found (`None`: there was no row). Nothing was written.
    Refused(Option<Item>),
}

/// Up to [`MAX_TRANSACTION_WRITES`] writes on different rows, all or none. Each has a role: what it means to the caller if the
/// condition of the write does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Transaction<R>(Vec<(R, Write)>);

/// The maximum number of writes in a transaction.
pub(crate) const MAX_TRANSACTION_WRITES: usize = 100;

/// The roles of a transaction in which one row decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TwoRoles {
    /// Writes the row that decides.
    Main,
    /// Writes another row.
    Other,
}

impl<R> Transaction<R> {
    /// No write yet.
    pub(crate) fn new() -> Self {
        Self(vec![])
    }

    /// Adds a write.
    pub(crate) fn add(&mut self, role: R, write: Write) {
        self.0.push((role, write));
    }

    /// The same, for a chain.
    pub(crate) fn with(mut self, role: R, write: Write) -> Self {
        self.add(role, write);
        self
    }

    /// Adds the writes of another transaction, whose roles mean `role` here.
    pub(crate) fn add_all<Q>(&mut self, role: impl Fn(Q) -> R, others: Transaction<Q>) {
        self.0.extend(others.0.into_iter().map(|(of, write)| (role(of), write)));
    }

    /// The roles of the writes.
    #[cfg(test)]
    pub(crate) fn roles(&self) -> Vec<R>
    where
        R: Copy,
    {
        self.0.iter().map(|(role, _)| *role).collect()
    }

    /// The number of writes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The only write, if there is one only.
    pub(crate) fn single(self) -> Result<Write, Self> {
        match <[_; 1]>::try_from(self.0) {
            Ok([(_, write)]) => Ok(write),
            Err(writes) => Err(Self(writes)),
        }
    }
}

/// One condition of a transaction that did not hold.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal<R> {
    /// The role of the write.
    pub(crate) role: R,
    /// The row that was found, if there was one.
    pub(crate) found: Option<Item>,
}

impl<R> Refusal<R> {
    /// Whether this request wrote the row that was found.
    pub(crate) fn is_of(&self, request_id: &str) -> bool {
        self.found.as_ref().is_some_and(|found| is_written_by(found, request_id))
    }
}

/// Whether this request wrote the row last. Then an earlier attempt of the refused write succeeded.
pub(crate) fn is_written_by(row: &Item, request_id: &str) -> bool {
    text(row, LAST_REQUEST) == request_id
}

/// Adds the condition of a write to a builder of the SDK. The seven builders have these methods and no trait in common.
macro_rules! conditional {
    ($builder:expr, $write:expr) => {
        $builder
            .set_condition_expression($write.condition)
            .set_expression_attribute_names(Some($write.names).filter(|names| !names.is_empty()))
            .set_expression_attribute_values(Some($write.values).filter(|values| !values.is_empty()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
}

impl Store {
    /// Executes one write. One round trip; more only while another transaction holds the row, for 2 s at
    /// most.
    pub(crate) async fn write(&self, write: Write) -> Result<Wrote, StoreError> {
        let mut retries = RetryTime::new(self);
        loop {
            match self.write_once(&write).await? {
                Some(wrote) => return Ok(wrote),
                None => retries.wait().await?,
            }
        }
    }

    /// Executes a transaction. If conditions did not hold, nothing is written, and these are their refusals, in the order of
    /// the writes: at least one. One round trip; more only while another transaction holds one of the rows, for 2 s at
    /// most.
    pub(crate) async fn transact<R: Copy>(
        &self,
        Transaction(writes): Transaction<R>,
    ) -> Result<Result<(), Vec<Refusal<R>>>, StoreError> {
        debug_assert!(writes.len() <= MAX_TRANSACTION_WRITES, "{} writes", writes.len());
        debug_assert!(
            writes.iter().map(|(_, write)| write.place()).collect::<HashSet<_>>().len() == writes.len(),
            "two writes of one row"
        );
        let (roles, writes): (Vec<R>, Vec<Write>) = writes.into_iter().unzip();
        let actions: Vec<TransactWriteItem> =
            writes.into_iter().map(|write| self.action(write)).collect::<Result<_, _>>()?;
        let mut retries = RetryTime::new(self);
        loop {
            // The SDK makes a new token for each of these calls, and keeps it for its own retries.
            let sent = self.db.transact_write_items().set_transact_items(Some(actions.clone()));
            let sent = Box::pin(sent.send()).await;
            let Err(error) = sent else { return Ok(Ok(())) };
            let reasons = match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    cancelled.cancellation_reasons()
                }
                _ => return Err(error.into()),
            };
            match Cancelled::of(reasons, &roles) {
                Cancelled::Refused(refusals) => return Ok(Err(refusals)),
                // The SDK retries neither, because a cancelled transaction is an answer.
                Cancelled::Retryable => retries.wait().await?,
                Cancelled::Other => return Err(StoreError::Failed(Box::new(error))),
            }
        }
    }

    /// Executes a transaction of which nobody asks what was refused. Returns whether it is done. One round trip.
    pub(crate) async fn all_or_none(
        &self,
        writes: impl IntoIterator<Item = Write>,
    ) -> Result<bool, StoreError> {
        let writes = writes.into_iter().map(|write| ((), write)).collect();
        Ok(self.transact(Transaction(writes)).await?.is_ok())
    }

    /// One attempt of one write; `None` if another transaction holds the row.
    async fn write_once(&self, write: &Write) -> Result<Option<Wrote>, StoreError> {
        let (table, write) = (self.tables.name(write.table), write.clone());
        match write.action {
            Action::Put(row) => {
                let put = self.db.put_item().table_name(table).set_item(Some(row));
                single_result(Box::pin(conditional!(put, write).send()).await.map(|_| None))
            }
            Action::Update { key, expression } => {
                let update = self.db.update_item().table_name(table).set_key(Some(key));
                let update = update
                    .update_expression(expression)
                    .set_return_values(write.returning_new.then_some(ReturnValue::AllNew));
                single_result(
                    Box::pin(conditional!(update, write).send()).await.map(|answer| answer.attributes),
                )
            }
            Action::Delete { key } => {
                let delete = self.db.delete_item().table_name(table).set_key(Some(key));
                single_result(Box::pin(conditional!(delete, write).send()).await.map(|_| None))
            }
            Action::Check { .. } => Err(StoreError::Failed("a condition alone is no write".into())),
        }
    }

    /// A write as an action of a transaction.
    fn action(&self, write: Write) -> Result<TransactWriteItem, StoreError> {
        let (table, item) = (self.tables.name(write.table), TransactWriteItem::builder());
        let built = match write.action {
            Action::Put(row) => {
                let put = Put::builder().table_name(table).set_item(Some(row));
                conditional!(put, write).build().map(|put| item.put(put))
            }
            Action::Update { key, expression } => {
                let update = Update::builder().table_name(table).set_key(Some(key));
                let update = update.update_expression(expression);
                conditional!(update, write).build().map(|update| item.update(update))
            }
            Action::Delete { key } => {
                let delete = Delete::builder().table_name(table).set_key(Some(key));
                conditional!(delete, write).build().map(|delete| item.delete(delete))
            }
            Action::Check { key } => {
                let check = ConditionCheck::builder().table_name(table).set_key(Some(key));
                conditional!(check, write).build().map(|check| item.condition_check(check))
            }
        };
        built.map(|item| item.build()).map_err(|error| StoreError::Failed(Box::new(error)))
    }
}

/// The result of a single_result write; `None` if another transaction holds the row.
fn single_result<E>(
    answer: Result<Option<Item>, aws_sdk_dynamodb::error::SdkError<E>>,
) -> Result<Option<Wrote>, StoreError>
where
    E: RefusedRow + ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let error = match answer {
        Ok(row) => return Ok(Some(Wrote::Done(row.unwrap_or_default()))),
        Err(error) => error,
    };
    if let Some(found) = error.as_service_error().and_then(E::refused_row) {
        return Ok(Some(Wrote::Refused(found.cloned())));
    }
    if error.as_service_error().and_then(|error| error.code()) == Some(CONFLICT_EXCEPTION) {
        return Ok(None);
    }
    Err(error.into())
}

/// DynamoDB's name of a conflict, as an exception of a single write.
const CONFLICT_EXCEPTION: &str = "TransactionConflictException";

/// The three errors of single writes that contain the row for which a condition failed.
trait RefusedRow {
    /// `Some` if the condition failed, with the row that was found.
    fn refused_row(&self) -> Option<Option<&Item>>;
}

macro_rules! refused_rows {
    ($($module:ident::$error:ident)*) => {$(
        impl RefusedRow for aws_sdk_dynamodb::operation::$module::$error {
            fn refused_row(&self) -> Option<Option<&Item>> {
                match self {
                    Self::ConditionalCheckFailedException(failed) => Some(failed.item()),
                    _ => None,
                }
            }
        }
    )*};
}

refused_rows! { put_item::PutItemError update_item::UpdateItemError delete_item::DeleteItemError }

/// The reason of a cancelled transaction that decides, out of all its reasons.
#[derive(Debug, PartialEq)]
enum Cancelled<R> {
    Refused(Vec<Refusal<R>>),
    /// Another transaction holds one of the rows, or one is throttled: the conditions are not decided.
    Retryable,
    Other,
}

impl<R: Copy> Cancelled<R> {
    /// A row that is held counts before refused conditions: otherwise not all conditions were checked, and
    /// the refusal of the entity's own condition decides what the others mean.
    fn of(reasons: &[CancellationReason], roles: &[R]) -> Self {
        let has = |codes: &[&str]| {
            reasons.iter().any(|reason| reason.code().is_some_and(|code| codes.contains(&code)))
        };
        if has(&["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]) {
            return Self::Retryable;
        }
        let found = |reason: &CancellationReason| reason.item().filter(|item| !item.is_empty()).cloned();
        let refusals: Vec<Refusal<R>> = reasons
            .iter()
            .zip(roles)
            .filter(|(reason, _)| reason.code() == Some("ConditionalCheckFailed"))
            .map(|(reason, role)| Refusal { role: *role, found: found(reason) })
            .collect();
        if refusals.is_empty() { Self::Other } else { Self::Refused(refusals) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamodb::item::s;

    fn reasons(codes: &[&str]) -> Vec<CancellationReason> {
        codes.iter().map(|code| CancellationReason::builder().code(*code).build()).collect()
    }

    const ROLES: [char; 3] = ['a', 'b', 'c'];

    fn refused(roles: &[char]) -> Cancelled<char> {
        Cancelled::Refused(roles.iter().map(|role| Refusal { role: *role, found: None }).collect())
    }

    #[test]
    fn the_deciding_reason_of_a_cancelled_transaction_is_found() {
        let rows: &[(&[&str], Cancelled<char>)] = &[
            (&["ConditionalCheckFailed", "None"], refused(&['a'])),
            (&["None", "ConditionalCheckFailed", "ConditionalCheckFailed"], refused(&['b', 'c'])),
            (&["TransactionConflict", "None"], Cancelled::Retryable),
            // The first condition was not checked, so the meaning of the second is not known yet.
            (&["TransactionConflict", "ConditionalCheckFailed"], Cancelled::Retryable),
            (&["ThrottlingError", "TransactionConflict"], Cancelled::Retryable),
            (&["None", "ProvisionedThroughputExceeded"], Cancelled::Retryable),
            (&["ValidationError"], Cancelled::Other),
            (&[], Cancelled::Other),
        ];
        for (codes, expected) in rows {
            assert_eq!(Cancelled::of(&reasons(codes), &ROLES), *expected, "{codes:?}");
        }
    }

    #[test]
    fn a_refusal_contains_the_row_that_was_found() {
        let row = Item::from([(LAST_REQUEST.to_owned(), s("mine"))]);
        let reason = CancellationReason::builder().code("ConditionalCheckFailed");
        let reason = reason.set_item(Some(row.clone())).build();
        assert!(is_written_by(&row, "mine") && !is_written_by(&row, "yours"));
        let expected = Cancelled::Refused(vec![Refusal { role: 'a', found: Some(row) }]);
        assert_eq!(Cancelled::of(&[reason], &ROLES), expected);
    }
}
