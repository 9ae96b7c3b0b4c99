//! Metrics: lines of CloudWatch's Embedded Metric Format on standard output. They need no calls.
//!
//! ```ignore
//! let counted = metrics::Deliveries::default();
//! counted.deliveries_failed.add(1);
//! counted.delivery_attempt_time.took(Duration::from_millis(120));
//! metrics.put(Track::Fast, &counted);  // one line with both; none if nothing was counted
//! ```
//!
//! The list of metrics below is complete. The fields of a family are its metrics, and their types are the
//! units. The type after `by` is the family's one dimension besides `Stack`. An unlisted name, unit or
//! dimension does not compile.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::Clock;
use serde::{Serialize, Serializer};

use crate::Fields;

/// The namespace of all metrics.
pub const NAMESPACE: &str = "MessagingIntegrations";

/// The maximum number of values of a metric in a line, set by the format.
const MOST_VALUES: usize = 100;

/// The dimension of a family besides the stack: one with few values, or none.
pub trait Dimension: Copy {
    /// The name of the dimension; `None` if the family has no dimension besides the stack.
    const NAME: Option<&'static str>;

    /// The value of the dimension.
    fn value(self) -> &'static str;
}

impl Dimension for () {
    const NAME: Option<&'static str> = None;

    fn value(self) -> &'static str {
        ""
    }
}

macro_rules! dimensions {
    ($($(#[$about:meta])* $name:ident = $dimension:literal { $($value:ident = $text:literal)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the variants are named after their values
        pub enum $name { $($value),* }

        impl Dimension for $name {
            const NAME: Option<&'static str> = Some($dimension);

            fn value(self) -> &'static str {
                match self { $(Self::$value => $text),* }
            }
        }
    )*};
}

dimensions! {
    /// The queue that a visit came from.
    Track = "Track" { Fast = "fast" Slow = "slow" }
    /// The kind of lanes that were due.
    What = "What" { Webhooks = "webhooks" Conversations = "conversations" Leads = "leads" Persons = "persons" }
    /// A function of the Integrations API.
    ApiFunction = "Function" {
        Access = "access" Attributes = "attributes" Contacts = "contacts" Conversations = "conversations" Deliveries = "deliveries"
        Endpoints = "endpoints" Files = "files" LeadRecords = "lead-records"
        Messages = "messages" Users = "users"
    }
    /// Why a key gives no access. The answer never says so.
    Denial = "Reason" {
        NoKey = "NO_KEY" MalformedKey = "MALFORMED_KEY" UnknownKey = "UNKNOWN_KEY" RevokedKey = "REVOKED_KEY"
        ExpiredKey = "EXPIRED_KEY" OtherWorkspace = "OTHER_WORKSPACE" NoWorkspace = "NO_WORKSPACE"
        DisabledWorkspace = "DISABLED_WORKSPACE" NoScope = "NO_SCOPE" NoSelfService = "NO_SELF_SERVICE"
        UsedLink = "USED_LINK" LostMaker = "LOST_MAKER"
    }
}

/// A metric as CloudWatch shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The metric's name.
    pub name: &'static str,
    /// The metric's unit.
    pub unit: &'static str,
    /// The metric's dimension besides `Stack`.
    pub by: Option<&'static str>,
}

/// Metrics that are written together in one line.
pub trait Family {
    /// The dimension of the family.
    type By: Dimension;
    /// The metrics of the family.
    const METRICS: &'static [Metric];

    /// The values of the metrics, in the order of [`Family::METRICS`].
    fn values(&self) -> Vec<Values>;
}

macro_rules! families {
    ($($(#[$about:meta])* $family:ident by $by:ty {
        $($(#[$meaning:meta])* $field:ident: $unit:ident = $name:literal,)*
    })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Default)]
            pub struct $family { $($(#[$meaning])* pub $field: $unit,)* }

            impl Family for $family {
                type By = $by;
                const METRICS: &'static [Metric] =
                    &[$(Metric { name: $name, unit: $unit::UNIT, by: <$by as Dimension>::NAME }),*];

                fn values(&self) -> Vec<Values> {
                    vec![$(self.$field.values()),*]
                }
            }
        )*

        /// All metrics, family by family.
        pub const FAMILIES: &[&[Metric]] = &[$($family::METRICS),*];
    };
}

families! {
    /// Webhook deliveries.
    Deliveries by Track {
        /// Visits of lanes.
        visits: Count = "LaneVisits",
        /// Attempts that the receiver answered with 2xx.
        deliveries_acknowledged: Count = "DeliveriesAcknowledged",
        /// Attempts that failed.
        deliveries_failed: Count = "DeliveriesFailed",
        /// Deliveries whose last attempt failed.
        deliveries_exhausted: Count = "DeliveriesExhausted",
        /// Endpoints that were disabled.
        endpoints_disabled: Count = "EndpointsDisabled",
        /// Posts that did not leave the service's own network; they do not count as attempts.
        egress_failures: Count = "EgressFailures",
        /// The duration of attempts.
        delivery_attempt_time: Milliseconds = "DeliveryAttemptTime",
    }
    /// Changes that `event-relay` processed.
    Relayed by () {
        /// Events that were recorded for the first time.
        events_recorded: Count = "EventsRecorded",
        /// Records that could not be relayed and will be redelivered.
        records_not_relayed: Count = "RecordsNotRelayed",
        /// The age of the oldest change in a batch.
        relay_lag: Milliseconds = "RelayLag",
    }
    /// Webhooks of the provider.
    Received by () {
        /// Webhooks whose pieces are on the queue or in quarantine.
        webhooks_received: Count = "ProviderWebhooksReceived",
        /// Requests that no app of the deployment has signed.
        webhooks_refused: Count = "ProviderWebhooksRefused",
        /// Signed webhooks of another product than WhatsApp.
        webhooks_unreadable: Count = "ProviderWebhooksUnreadable",
    }
    /// Items of the provider's webhooks.
    Inbox by () {
        /// Items that were processed, now or before.
        items_processed: Count = "InboxItemsProcessed",
        /// Items that change nothing: of another workspace, of a blocked conversation, and so on.
        items_dropped: Count = "InboxItemsDropped",
        /// Pieces that were queued again because an item must wait.
        pieces_deferred: Count = "InboxPiecesDeferred",
        /// Files of customers' messages that the provider did not give in time.
        files_missing: Count = "InboundFilesMissing",
        /// Customers' new numbers or user ids that are another contact's.
        moves_refused: Count = "InboxMovesRefused",
        /// Changes of accounts, lines and templates that the service only counts.
        other_changes: Count = "ProviderChangesSeen",
        /// Leaves of statuses, preferences, moves and deletions that the service does not know.
        leaves_unmapped: Count = "ProviderLeavesUnmapped",
    }
    /// Lanes that were due.
    Swept by What {
        /// Lanes that were due as planned.
        due_swept: Count = "DueSwept",
        /// Lanes whose queue message was lost or whose visitor died.
        rescued: Count = "Rescued",
        /// Parts of a due index that could not be read, and lanes that could not be claimed.
        not_swept: Count = "NotSwept",
    }
    /// Messages sent to the provider.
    Sends by () {
        /// The provider accepted the message.
        sends_accepted: Count = "SendsAccepted",
        /// The send failed permanently.
        sends_failed: Count = "SendsFailed",
        /// The outcome of the send is unknown.
        sends_unknown: Count = "SendsUnknown",
        /// The provider did not accept the message; it is retried later.
        sends_retried: Count = "SendsRetried",
    }
    /// Judged leads.
    Leads by () {
        /// Leads that got a message to send.
        leads_opened: Count = "LeadsOpened",
        /// Leads that cannot get a message.
        leads_failed: Count = "LeadsFailed",
        /// Leads that must not get a message.
        leads_suppressed: Count = "LeadsSuppressed",
    }
    /// Erasures and previews.
    PersonJobs by () {
        /// Visits of erasures and previews that are not over an hour after they were asked for.
        person_jobs_late: Count = "PersonJobsLate",
    }
    /// Captured leads.
    Captured by () {
        /// Accepted leads, including repeats.
        leads_accepted: Count = "LeadsAccepted",
        /// Rejected requests.
        leads_rejected: Count = "LeadsRejected",
        /// The workspace's captcha secret is missing, or the captcha's provider refuses it.
        captcha_misconfigured: Count = "CaptchaMisconfigured",
        /// The captcha's provider gave no answer.
        captcha_unavailable: Count = "CaptchaUnavailable",
    }
    /// Requests to the Integrations API.
    Requests by ApiFunction {
        /// The duration of a request.
        request_time: Milliseconds = "RequestTime",
        /// Responses with a 4xx status.
        refused_4xx: Count = "Refused4xx",
        /// Responses with a 5xx status.
        failed_5xx: Count = "Failed5xx",
        /// Responses with status 429. They also count in `Refused4xx`.
        rate_limited: Count = "RateLimited",
    }
    /// Requests to the Integrations API whose key gives no access.
    Denials by Denial {
        /// Responses with status 403. They also count in `Refused4xx`.
        forbidden: Count = "Forbidden",
    }
}

/// A counter. Several tasks may add to it at the same time.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    const UNIT: &'static str = "Count";

    /// Adds `more` to the count.
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn values(&self) -> Values {
        match self.0.load(Ordering::Relaxed) {
            0 => Values(vec![]),
            count => Values(vec![count]),
        }
    }
}

/// Durations, one for each occurrence.
#[derive(Debug, Default)]
pub struct Milliseconds(Mutex<Vec<u64>>);

impl Milliseconds {
    const UNIT: &'static str = "Milliseconds";

    /// Adds one duration, in whole milliseconds.
    pub fn took(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(millis);
    }

    fn values(&self) -> Values {
        Values(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// The values of a metric; empty if nothing was counted.
#[derive(Debug)]
pub struct Values(Vec<u64>);

/// Writes the metrics of a function.
#[derive(Clone)]
pub struct Metrics {
    /// The name of the stack.
    stack: String,
    clock: Arc<dyn Clock>,
    sink: Sink,
}

#[derive(Clone)]
enum Sink {
    StandardOutput,
    Kept(Kept),
    Nowhere,
}

impl Metrics {
    /// Metrics of a stack, written to standard output.
    pub(crate) fn new(stack: &str, clock: Arc<dyn Clock>) -> Self {
        Self { stack: stack.to_owned(), clock, sink: Sink::StandardOutput }
    }

    /// Metrics of the stack `test` that are kept in memory, for tests.
    pub fn kept(clock: Arc<dyn Clock>) -> (Self, Kept) {
        let kept = Kept::default();
        (Self { sink: Sink::Kept(kept.clone()), ..Self::new("test", clock) }, kept)
    }

    /// Metrics of the stack `test` that are not kept, for work that no alarm is about and for tests that make millions of them.
    pub fn discarded(clock: Arc<dyn Clock>) -> Self {
        Self { sink: Sink::Nowhere, ..Self::new("test", clock) }
    }

    /// Writes what was counted in one line. Writes no line if nothing was counted.
    pub fn put<F: Family>(&self, by: F::By, counted: &F) {
        let counted = Counted::of(by, counted);
        if !counted.is_empty() {
            self.write(vec![counted], "INFO", "counted", Fields::default());
        }
    }

    /// Writes what was counted into the log line of the work itself, whose `fields` are no metrics.
    pub fn log(&self, counted: Vec<Counted>, level: &'static str, message: &'static str, fields: Fields) {
        self.write(counted, level, message, fields);
    }

    /// Writes values, split into lines of at most [`MOST_VALUES`] values. The first line has the fields.
    fn write(
        &self,
        mut counted: Vec<Counted>,
        level: &'static str,
        message: &'static str,
        mut fields: Fields,
    ) {
        loop {
            let rest: Vec<Counted> = counted.iter_mut().map(Counted::split_off).collect();
            self.sink.write(&self.line(&counted, level, message, &fields));
            if rest.iter().all(Counted::is_empty) {
                return;
            }
            (counted, fields) = (rest, Fields::default());
        }
    }

    /// Formats one line.
    fn line(
        &self,
        counted: &[Counted],
        level: &'static str,
        message: &'static str,
        fields: &Fields,
    ) -> String {
        let now = self.clock.now();
        let counted = || counted.iter().filter(|counted| !counted.is_empty());
        let values = counted().flat_map(|counted| {
            let dimension = counted.dimension.map(|(name, value)| (name, MetricValue::Text(value)));
            dimension.into_iter().chain(counted.metrics().map(MetricValue::of))
        });
        let line = MetricLine {
            timestamp: now.to_string(),
            level,
            message,
            fields,
            aws: MetricMetadata {
                timestamp: now.as_millis(),
                directives: counted().map(Counted::directive).collect(),
            },
            stack: &self.stack,
            values: MetricValues(values.collect()),
        };
        let mut line = serde_json::to_string(&line).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// What was counted of one family, under one value of its dimension.
pub struct Counted {
    dimension: Option<(&'static str, &'static str)>,
    metrics: &'static [Metric],
    values: Vec<Values>,
}

impl Counted {
    /// What was counted of a family.
    pub fn of<F: Family>(by: F::By, counted: &F) -> Self {
        let dimension = F::By::NAME.map(|name| (name, by.value()));
        Self { dimension, metrics: F::METRICS, values: counted.values() }
    }

    fn is_empty(&self) -> bool {
        self.values.iter().all(|values| values.0.is_empty())
    }

    /// The metrics that have values.
    fn metrics(&self) -> impl Iterator<Item = (&Metric, &Values)> {
        self.metrics.iter().zip(&self.values).filter(|(_, values)| !values.0.is_empty())
    }

    /// Removes and returns the values that do not fit into one line.
    fn split_off(&mut self) -> Self {
        let rest =
            self.values.iter_mut().map(|values| Values(values.0.split_off(values.0.len().min(MOST_VALUES))));
        Self { values: rest.collect(), ..*self }
    }

    fn directive(&self) -> MetricDirective {
        MetricDirective {
            namespace: NAMESPACE,
            dimensions: [std::iter::once("Stack").chain(self.dimension.map(|(name, _)| name)).collect()],
            metrics: self.metrics().map(|(Metric { name, unit, .. }, _)| MetricName { name, unit }).collect(),
        }
    }
}

/// A line of the embedded metric format.
#[derive(Serialize)]
struct MetricLine<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    #[serde(flatten)]
    fields: &'a Fields,
    #[serde(rename = "_aws")]
    aws: MetricMetadata,
    #[serde(rename = "Stack")]
    stack: &'a str,
    #[serde(flatten)]
    values: MetricValues<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MetricMetadata {
    timestamp: i64,
    #[serde(rename = "CloudWatchMetrics")]
    directives: Vec<MetricDirective>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MetricDirective {
    namespace: &'static str,
    dimensions: [Vec<&'static str>; 1],
    metrics: Vec<MetricName>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MetricName {
    name: &'static str,
    unit: &'static str,
}

/// The dimension and the metrics of a line, by name.
struct MetricValues<'a>(Vec<(&'static str, MetricValue<'a>)>);

impl Serialize for MetricValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum MetricValue<'a> {
    Text(&'static str),
    One(u64),
    Many(&'a [u64]),
}

impl<'a> MetricValue<'a> {
    fn of((metric, values): (&Metric, &'a Values)) -> (&'static str, Self) {
        match values.0.as_slice() {
            [value] => (metric.name, Self::One(*value)),
            values => (metric.name, Self::Many(values)),
        }
    }
}

impl Sink {
    fn write(&self, line: &str) {
        match self {
            // One call for each line, so that lines do not mix. If standard output is closed, the line is
            // dropped.
            Self::StandardOutput => drop(std::io::stdout().lock().write_all(line.as_bytes())),
            Self::Kept(kept) => kept.lock().push(line.to_owned()),
            Self::Nowhere => {}
        }
    }
}

/// The lines that were written, for tests.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<Mutex<Vec<String>>>);

impl Kept {
    /// Removes and returns the lines written since the last call.
    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }

    /// The values of the lines since the last call of [`Kept::lines`], without removing them. The key is the
    /// metric's `name`, or `name value` with the value of its dimension; values are in order.
    pub fn values(&self) -> std::collections::BTreeMap<String, Vec<u64>> {
        let mut by_metric = std::collections::BTreeMap::<String, Vec<u64>>::new();
        for line in self.lock().iter() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            for directive in line["_aws"]["CloudWatchMetrics"].as_array().into_iter().flatten() {
                let by = directive["Dimensions"][0][1].as_str().and_then(|by| line[by].as_str());
                for metric in directive["Metrics"].as_array().into_iter().flatten() {
                    let name = metric["Name"].as_str().unwrap_or_default();
                    let values = match &line[name] {
                        serde_json::Value::Array(values) => values.clone(),
                        value => vec![value.clone()],
                    };
                    let name = by.map_or(name.to_owned(), |by| format!("{name} {by}"));
                    let numbers = values.iter().filter_map(serde_json::Value::as_u64);
                    by_metric.entry(name).or_default().extend(numbers);
                }
            }
        }
        by_metric
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::SystemClock;

    fn kept() -> (Metrics, Kept) {
        Metrics::kept(Arc::new(SystemClock))
    }

    /// Checks a line against the MUST rules of the embedded metric format's specification.
    fn assert_valid(line: &str) -> Value {
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1 && line.len() < 256 * 1024);
        let line: Value = serde_json::from_str(line).unwrap();
        let metadata = line["_aws"].as_object().unwrap();
        assert_eq!(metadata.keys().collect::<Vec<_>>(), ["CloudWatchMetrics", "Timestamp"]);
        assert!(metadata["Timestamp"].as_u64().unwrap() > 1_600_000_000_000, "milliseconds since 1970");
        let directives = metadata["CloudWatchMetrics"].as_array().unwrap();
        assert!(!directives.is_empty());
        for directive in directives {
            let names: Vec<_> = directive.as_object().unwrap().keys().collect();
            assert_eq!(names, ["Dimensions", "Metrics", "Namespace"]);
            assert!((1..=1024).contains(&directive["Namespace"].as_str().unwrap().len()));
            let sets = directive["Dimensions"].as_array().unwrap();
            assert!(!sets.is_empty());
            for dimension in sets.iter().flat_map(|set| set.as_array().unwrap()) {
                let value = line[dimension.as_str().unwrap()].as_str().unwrap();
                assert!((1..=1024).contains(&value.len()) && value.is_ascii(), "{value}");
            }
            assert!(sets.iter().all(|set| set.as_array().unwrap().len() <= 30));
            let metrics = directive["Metrics"].as_array().unwrap();
            assert!((1..=100).contains(&metrics.len()));
            for metric in metrics {
                assert!(["Count", "Milliseconds"].contains(&metric["Unit"].as_str().unwrap()));
                let value = &line[metric["Name"].as_str().unwrap()];
                match value.as_array() {
                    Some(values) => {
                        assert!((1..=MOST_VALUES).contains(&values.len()));
                        assert!(values.iter().all(Value::is_number));
                    }
                    None => assert!(value.is_number(), "{metric}: {value}"),
                }
            }
        }
        line
    }

    #[test]
    fn counts_are_one_valid_line_with_their_dimensions() {
        let (metrics, kept) = kept();
        let counted = Deliveries::default();
        counted.deliveries_failed.add(2);
        counted.deliveries_failed.add(1);
        counted.delivery_attempt_time.took(Duration::from_millis(120));
        counted.delivery_attempt_time.took(Duration::from_secs(30));
        metrics.put(Track::Slow, &counted);
        let lines = kept.lines();
        assert_eq!(lines.len(), 1);
        let line = assert_valid(&lines[0]);
        let directive = json!({
            "Namespace": "MessagingIntegrations",
            "Dimensions": [["Stack", "Track"]],
            "Metrics": [
                {"Name": "DeliveriesFailed", "Unit": "Count"},
                {"Name": "DeliveryAttemptTime", "Unit": "Milliseconds"},
            ],
        });
        assert_eq!(line["_aws"]["CloudWatchMetrics"], json!([directive]));
        assert_eq!(
            (&line["Stack"], &line["Track"], &line["DeliveriesFailed"], &line["DeliveryAttemptTime"]),
            (&json!("test"), &json!("slow"), &json!(3), &json!([120, 30_000]))
        );
    }

    #[test]
    fn metrics_without_their_own_dimension_have_only_the_stack() {
        let (metrics, kept) = kept();
        let counted = Captured::default();
        counted.leads_accepted.add(1);
        metrics.put((), &counted);
        let line = assert_valid(&kept.lines()[0]);
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["Stack"]]));
    }

    #[test]
    fn no_line_is_written_when_nothing_was_counted() {
        let (metrics, kept) = kept();
        let counted = Swept::default();
        counted.rescued.add(0);
        metrics.put(What::Leads, &counted);
        assert!(kept.lines().is_empty());
    }

    #[test]
    fn too_many_values_for_one_line_are_split_into_lines_and_counts_are_in_one() {
        let (metrics, kept) = kept();
        let counted = Deliveries::default();
        counted.deliveries_acknowledged.add(250);
        (0..250).for_each(|millis| counted.delivery_attempt_time.took(Duration::from_millis(millis)));
        metrics.put(Track::Fast, &counted);
        let values = kept.values();
        assert_eq!(values["DeliveriesAcknowledged fast"], [250]);
        assert_eq!(values["DeliveryAttemptTime fast"], (0..250).collect::<Vec<u64>>());
        let lines = kept.lines();
        assert_eq!(lines.len(), 3);
        lines.iter().for_each(|line| drop(assert_valid(line)));
    }

    #[test]
    fn the_log_line_of_the_work_contains_its_fields_escaped() {
        let (metrics, kept) = kept();
        let counted = Requests::default();
        counted.request_time.took(Duration::from_millis(7));
        let mut fields = Fields::default();
        fields.add("requestId", "a \"quoted\"\nid");
        fields.add("status", 200);
        fields.add("cause", "x".repeat(100_000));
        fields.add_known("code", None::<&str>);
        metrics.log(vec![Counted::of(ApiFunction::Contacts, &counted)], "INFO", "answered", fields);
        let line = assert_valid(&kept.lines()[0]);
        assert_eq!((&line["requestId"], &line["status"]), (&json!("a \"quoted\"\nid"), &json!(200)));
        assert_eq!(line["cause"], format!("{}... (98976 bytes more)", "x".repeat(1_024)));
        assert!(line.get("code").is_none(), "{line}");
        assert_eq!((&line["level"], &line["message"]), (&json!("INFO"), &json!("answered")));
        assert_eq!((&line["Function"], &line["RequestTime"]), (&json!("contacts"), &json!(7)));
    }

    #[test]
    fn one_line_counts_several_families_each_with_its_dimension() {
        let (metrics, kept) = kept();
        let (requests, denials) = (Requests::default(), Denials::default());
        requests.refused_4xx.add(1);
        denials.forbidden.add(1);
        let counted =
            vec![Counted::of(ApiFunction::Users, &requests), Counted::of(Denial::ExpiredKey, &denials)];
        metrics.log(counted, "INFO", "refused", Fields::default());
        let values = kept.values();
        assert_eq!((&values["Refused4xx users"], &values["Forbidden EXPIRED_KEY"]), (&vec![1], &vec![1]));
        let line = assert_valid(&kept.lines()[0]);
        assert_eq!(line["_aws"]["CloudWatchMetrics"][1]["Dimensions"], json!([["Stack", "Reason"]]));
        assert_eq!((&line["Function"], &line["Reason"]), (&json!("users"), &json!("EXPIRED_KEY")));
    }

    /// Alarms and dashboards use this list: a change here needs a change there.
    #[test]
    fn the_list_of_metrics_is_the_decided_one_and_the_one_on_the_page() {
        let expected = "LaneVisits Count Track, DeliveriesAcknowledged Count Track, DeliveriesFailed Count Track, \
            DeliveriesExhausted Count Track, EndpointsDisabled Count Track, EgressFailures Count Track, \
            DeliveryAttemptTime Milliseconds Track, EventsRecorded Count -, \
            RecordsNotRelayed Count -, RelayLag Milliseconds -, ProviderWebhooksReceived Count -, \
            ProviderWebhooksRefused Count -, ProviderWebhooksUnreadable Count -, InboxItemsProcessed Count -, \
            InboxItemsDropped Count -, InboxPiecesDeferred Count -, InboundFilesMissing Count -, \
            InboxMovesRefused Count -, ProviderChangesSeen Count -, ProviderLeavesUnmapped Count -, \
            DueSwept Count What, Rescued Count What, NotSwept Count What, SendsAccepted Count -, SendsFailed Count -, SendsUnknown Count -, SendsRetried Count -, \
            LeadsOpened Count -, LeadsFailed Count -, LeadsSuppressed Count -, PersonJobsLate Count -, \
            LeadsAccepted Count -, LeadsRejected Count -, \
            CaptchaMisconfigured Count -, CaptchaUnavailable Count -, RequestTime Milliseconds Function, \
            Refused4xx Count Function, Failed5xx Count Function, RateLimited Count Function, Forbidden Count Reason";
        let all = || FAMILIES.iter().copied().flatten();
        let listed =
            |metric: &Metric| format!("{} {} {}", metric.name, metric.unit, metric.by.unwrap_or("-"));
        assert_eq!(all().map(listed).collect::<Vec<_>>().join(", "), expected);

        let page = include_str!("../../../docs/observability.md");
        let table = page.split("<!-- metrics -->").nth(1).unwrap();
        let table = table.split("<!-- /metrics -->").next().unwrap();
        let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
        let shown: Vec<String> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
                format!("{} {} {}", cells[0].trim_end_matches('`'), cells[1], cells[2])
            })
            .collect();
        assert_eq!(shown.join(", "), expected);
    }
}
