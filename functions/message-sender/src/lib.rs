//! Sends the due messages of a conversation, in order, through the provider.
//!
//! ```text
//! wake -> lane's lease -> plan, entries -> message -> data of its part -> SENDING -> call -> outcome -> next part
//! ```
//!
//! Nothing depends on the queue message. If this process dies, the conversation's lane is still in the due index, and
//! its lease ends. A call that was begun under an expired lease is never repeated: its part becomes UNKNOWN. A
//! message that cannot be sent now waits in its row, and the messages after it also wait.

mod conversation;
mod invocation;
mod part;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent};
use provider::Provider;
use queue::{InboundQueue, Queues};
use runtime::metrics::Sends;
use runtime::{Metrics, SendRules};
use store::{Bucket, Leased, Store, StoreError};
use worker::{VisitEnd, VisitLoop, Visitor};

use invocation::Invocation;

/// The dependencies of this function.
pub struct Engine<P> {
    /// The tables.
    pub store: Store,
    /// The bucket of files. The provider fetches them by signed links.
    pub bucket: Bucket,
    /// Where the next visits are queued.
    pub queues: Queues,
    /// Where a template is asked for that the provider refuses to send.
    pub inbox: InboundQueue,
    /// The provider that sends the messages.
    pub provider: P,
    /// The settings for retries and visits.
    pub rules: SendRules,
    /// Counts the outcomes of parts.
    pub metrics: Metrics,
}

impl<P: Provider> Engine<P> {
    /// Sends in the conversations of a batch, all at the same time. A slow conversation delays no other, and only a
    /// conversation that failed is queued again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let Self { store, bucket, queues, inbox, provider, rules, metrics } = self;
        let of_visits = worker::Rules { lease: rules.lease, longest: rules.call, rescue: rules.rescue };
        let shift = VisitLoop::begin(store, queues, of_visits, &event.context)?;
        let counted = Sends::default();
        let invocation = Invocation {
            store,
            bucket,
            inbox,
            provider: provider.with_new_connections(),
            rules,
            budget: shift.budget,
            counted,
        };
        let response = shift.work(&invocation, event.payload).await;
        metrics.put((), &invocation.counted);
        Ok(response)
    }
}

impl<P: Provider> Visitor for Invocation<'_, P> {
    const KIND: LaneKind = LaneKind::Conversation;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        conversation::visit(self, lane).await
    }
}
