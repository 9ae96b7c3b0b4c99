//! What the functions of a world are made of.

use std::sync::Arc;

use domain::LaneKind;
use edge::Api;
use harness::{TestBucket, TestFailures, World};
use queue::{InboundQueue, Queues};
use runtime::Metrics;
use runtime::metrics::ApiFunction;
use store::{Bucket, Store};
use tokio::time::Instant;

use crate::random::{Random, RandomIds};
use crate::receivers::Receivers;
use crate::times::SkewedClock;
use crate::whatsapp::WhatsApp;

/// The dependencies of a world's functions.
#[derive(Clone)]
pub(crate) struct Parts<'a> {
    pub(crate) world: &'a World,
    pub(crate) begun: Instant,
    pub(crate) random: &'a Arc<Random>,
    /// The same for the functions of the management API. So the other functions have the same clocks without them.
    pub(crate) of_management: &'a Arc<Random>,
    /// The greatest difference of a clock, in milliseconds.
    pub(crate) skew: u64,
    pub(crate) ids: Arc<RandomIds>,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) bucket: &'a TestBucket,
    pub(crate) failures: &'a TestFailures,
    pub(crate) whatsapp: &'a WhatsApp,
    pub(crate) receivers: &'a Receivers,
}

impl Parts<'_> {
    pub(crate) fn clock(&self) -> Arc<SkewedClock> {
        let skew = i64::try_from(self.random.within(0, 2 * self.skew)).unwrap_or_default()
            - i64::try_from(self.skew).unwrap_or_default();
        Arc::new(SkewedClock { begun: self.begun, skew })
    }

    pub(crate) fn store(&self, function: &str) -> Store {
        self.world.db.store_with(function, self.clock(), self.ids.clone())
    }

    pub(crate) fn bucket(&self, function: &str) -> Bucket {
        self.bucket.bucket_with(&self.world.db, function, self.clock())
    }

    pub(crate) fn queues(&self) -> Queues {
        let url = |name: &str| format!("http://queue.invalid/1/{name}");
        Queues::default()
            .with_webhooks(self.sqs.clone(), url("webhook-deliveries"), url("webhook-deliveries-slow"))
            .with(LaneKind::Conversation, self.sqs.clone(), url("message-sends"))
            .with(LaneKind::Lead, self.sqs.clone(), url("lead-sends"))
            .with(LaneKind::Person, self.sqs.clone(), url("person-jobs"))
    }

    pub(crate) fn inbox_queue(&self) -> InboundQueue {
        InboundQueue::new(self.sqs.clone(), "http://queue.invalid/1/inbox")
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics::kept(self.world.db.clock().clone()).0
    }

    pub(crate) fn api(&self, function: ApiFunction, name: &str) -> Api {
        Api::new(self.store(name), self.metrics(), function)
    }
}
