//! The functions of the management API, as one process each.

use deliveries::Deliveries;
use domain::TrustedReceivers;
use edge::{Api, ApiRequest};
use endpoints::WebhookEndpoints;
use harness::Answer;
use lead_records::LeadRecords;
use runtime::metrics::ApiFunction;

use crate::desk::Entropy;
use crate::parts::Parts;
use crate::times::RESCUE;

/// One process of each function of the management API that has no other routes.
pub(crate) struct Management {
    access: Api,
    endpoints: WebhookEndpoints,
    deliveries: Deliveries,
    lead_records: LeadRecords,
    entropy: Entropy,
}

impl Management {
    pub(crate) fn new(parts: &Parts<'_>) -> Self {
        let parts = Parts { random: parts.of_management, ..parts.clone() };
        let entropy = Entropy(parts.random.clone());
        Self {
            access: parts.api(ApiFunction::Access, "access"),
            endpoints: WebhookEndpoints {
                api: parts.api(ApiFunction::Endpoints, "endpoints"),
                queues: parts.queues(),
                rescue: RESCUE,
                trusted: TrustedReceivers::none(),
                random: Box::new(entropy.clone()),
            },
            deliveries: Deliveries {
                api: parts.api(ApiFunction::Deliveries, "deliveries"),
                queues: parts.queues(),
                rescue: RESCUE,
            },
            lead_records: LeadRecords {
                api: parts.api(ApiFunction::LeadRecords, "lead-records"),
                queues: parts.queues(),
                rescue: RESCUE,
            },
            entropy,
        }
    }

    /// Handles a request to one of the functions.
    pub(crate) async fn handle(&self, function: &str, request: &ApiRequest) -> Answer {
        let response = match function {
            "access" => access::handle(&self.access, &self.entropy, request).await,
            "endpoints" => self.endpoints.handle(request).await,
            "deliveries" => self.deliveries.handle(request).await,
            "lead-records" => self.lead_records.handle(request).await,
            other => panic!("no function {other}"),
        };
        response.into()
    }
}
