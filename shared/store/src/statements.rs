//! Conditional changes of many rows in one call, each with an end of its own.
//!
//! A transaction binds its rows to each other and costs twice; what DynamoDB has for rows that have nothing to do with
//! each other is a batch of statements (PartiQL). A statement here is put together from parts that this crate's other
//! files write down, never from what a request holds: values travel as parameters.

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_sdk_dynamodb::types::{
    AttributeValue, BatchStatementError, BatchStatementErrorCodeEnum as Code, BatchStatementRequest,
    BatchStatementResponse, ReturnValuesOnConditionCheckFailure,
};

use crate::item::{Item, PK, SK, text};
use crate::transact::{Patience, Wrote, while_busy};
use crate::{Store, StoreError, Table};

/// A change of one row, or a new row.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// The row's table and keys: a call must not name a row twice.
    row: (Table, String, String),
    text: String,
    parameters: Vec<AttributeValue>,
}

/// The most statements of one call.
const MOST: usize = 25;

/// What is to become of a row's attributes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    text: String,
    parameters: Vec<AttributeValue>,
}

impl Changes {
    /// The attribute holds this.
    pub(crate) fn set(mut self, attribute: &str, value: AttributeValue) -> Self {
        self.text += &format!(r#" SET "{attribute}" = ?"#);
        self.parameters.push(value);
        self
    }

    /// A number that is there grows by this, which may be negative. Its name is none that DynamoDB reserves.
    pub(crate) fn add(mut self, attribute: &str, value: AttributeValue) -> Self {
        self.text += &format!(r#" SET "{attribute}" = {attribute} + ?"#);
        self.parameters.push(value);
        self
    }

    /// The attribute is no more.
    pub(crate) fn remove(mut self, attribute: &str) -> Self {
        self.text += &format!(r#" REMOVE "{attribute}""#);
        self
    }
}

/// How a row must be for a change to be carried out.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    text: String,
    parameters: Vec<AttributeValue>,
}

impl Condition {
    /// The attribute compares so (`=`, `<=`, `>`) with this.
    pub(crate) fn is(mut self, attribute: &str, comparison: &'static str, value: AttributeValue) -> Self {
        self.text += &format!(r#" AND "{attribute}" {comparison} ?"#);
        self.parameters.push(value);
        self
    }

    /// There is no such attribute.
    pub(crate) fn lacks(mut self, attribute: &str) -> Self {
        self.text += &format!(r#" AND "{attribute}" IS MISSING"#);
        self
    }
}

impl Store {
    /// Changes a row under a condition, together with whatever is changed at the same time; the row as it is then. One
    /// trip; more only while another transaction holds the row or the table is busy, for as long as `patience` says.
    pub(crate) async fn change(
        &self,
        patience: Patience<'_>,
        table: Table,
        (pk, sk): (&str, &str),
        changes: Changes,
        condition: Condition,
    ) -> Result<Wrote, StoreError> {
        let row = (table, pk.to_owned(), sk.to_owned());
        let table = self.tables.name(table);
        let Changes { text: changed, mut parameters } = changes;
        parameters.extend([pk, sk].map(|key| AttributeValue::S(key.to_owned())));
        parameters.extend(condition.parameters);
        let text = format!(
            r#"UPDATE "{table}"{changed} WHERE "{PK}" = ? AND "{SK}" = ?{} RETURNING ALL NEW *"#,
            condition.text
        );
        let statement = Statement { row, text, parameters };
        Box::pin(while_busy(patience, async || self.execute(statement.clone()).await)).await
    }

    /// Puts a new row, together with whatever is changed at the same time. One that stands there stays: it is the same
    /// row, as callers name new ones at random. One trip.
    pub(crate) async fn insert(&self, table: Table, row: Item) -> Result<(), StoreError> {
        let key = (table, text(&row, PK).to_owned(), text(&row, SK).to_owned());
        let table = self.tables.name(table);
        let (names, parameters): (Vec<String>, Vec<AttributeValue>) =
            row.into_iter().map(|(name, value)| (format!("'{name}': ?"), value)).unzip();
        let text = format!(r#"INSERT INTO "{table}" VALUE {{{}}}"#, names.join(", "));
        let statement = Statement { row: key, text, parameters };
        Box::pin(while_busy(Patience::new(self), async || self.execute(statement.clone()).await)).await?;
        Ok(())
    }

    async fn execute(&self, statement: Statement) -> Result<Wrote, StoreError> {
        self.journeys
            .statements
            .ask(statement, MOST, async |statements| self.execute_all(statements).await)
            .await
    }

    /// The ends of these, in their order. What changes a row that is changed before it waits for the next call.
    async fn execute_all(&self, statements: Vec<Statement>) -> Vec<Result<Wrote, StoreError>> {
        let mut ends: Vec<Option<_>> = statements.iter().map(|_| None).collect();
        let mut left: Vec<(usize, Statement)> = statements.into_iter().enumerate().collect();
        while !left.is_empty() {
            let mut rows = BTreeSet::new();
            let (now, later): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(_, statement)| rows.insert(statement.row.clone()));
            let (places, statements): (Vec<usize>, Vec<Statement>) = now.into_iter().unzip();
            for (place, end) in places.into_iter().zip(self.execute_once(statements).await) {
                ends[place] = Some(end);
            }
            left = later;
        }
        ends.into_iter().flatten().collect()
    }

    /// One call.
    async fn execute_once(&self, statements: Vec<Statement>) -> Vec<Result<Wrote, StoreError>> {
        let count = statements.len();
        let all_old = ReturnValuesOnConditionCheckFailure::AllOld;
        let request = |Statement { text, parameters, .. }| {
            BatchStatementRequest::builder()
                .statement(text)
                .set_parameters(Some(parameters))
                .return_values_on_condition_check_failure(all_old.clone())
                .build()
        };
        // Each has a text: nothing else could be missing.
        let requests = statements.into_iter().map(request).collect::<Result<Vec<_>, _>>().ok();
        match self.db.batch_execute_statement().set_statements(requests).send().await {
            Ok(answer) => {
                let mut ends: Vec<_> = answer.responses.unwrap_or_default().into_iter().map(end).collect();
                ends.resize_with(count, || Err(StoreError::Busy("a statement without an answer".into())));
                ends
            }
            Err(error) => {
                let error = Arc::new(StoreError::from(error));
                (0..count).map(|_| Err(StoreError::shared(&error))).collect()
            }
        }
    }
}

fn end(response: BatchStatementResponse) -> Result<Wrote, StoreError> {
    let Some(BatchStatementError { code, message, item, .. }) = response.error else {
        return Ok(Wrote::Done(response.item.unwrap_or_default()));
    };
    let cause = || message.clone().unwrap_or_default().into();
    match code {
        Some(Code::ConditionalCheckFailed) => Ok(Wrote::Refused(item.filter(|item| !item.is_empty()))),
        Some(Code::DuplicateItem) => Ok(Wrote::Refused(None)),
        Some(
            Code::TransactionConflict
            | Code::ThrottlingError
            | Code::ProvisionedThroughputExceeded
            | Code::RequestLimitExceeded
            | Code::InternalServerError,
        ) => Err(StoreError::Busy(cause())),
        _ => Err(StoreError::Failed(cause())),
    }
}
