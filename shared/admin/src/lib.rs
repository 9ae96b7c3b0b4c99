//! What a tenant's management API and the operator's console both do, once for both: read, judge, write, and again if
//! somebody was faster. The refusals are types: `edge` maps them to codes, the console to sentences.

mod admin;
mod attributes;
mod capture;
mod deliveries;
mod endpoints;
mod jobs;
mod leads;
mod onboarding;
mod opt_outs;
mod refused;
mod requests;
mod teams;
mod trial;
mod users;

pub use admin::{Admin, Check, Created, Gate};
pub use capture::{JudgedCapture, capture};
pub use deliveries::{
    After, DeliveryDetails, DeliverySearch, EventDetails, FoundDelivery, delivery_details, event_details,
};
pub use endpoints::{
    Activated, ChangedEndpoint, EndpointDetails, EndpointDraft, EndpointUpdate, Health, endpoint,
    endpoint_details, endpoint_to_call,
};
pub use jobs::{JobProgress, JobRequest, RequestedJob, furthest};
pub use leads::{LeadRetries, RetriedLeads, lead};
pub use onboarding::SetOnboarding;
pub use refused::Refused;
pub use trial::Trial;
