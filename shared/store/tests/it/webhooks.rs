//! Webhooks with an embedded DynamoDB: events and telling lanes of them, the reads and writes of visits,
//! jobs, lists.

mod events;
mod jobs;
mod lists;
mod visits;
