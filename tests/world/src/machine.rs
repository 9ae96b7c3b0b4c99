//! One process of each function, as Lambda runs them: with a memory and a clock of its own.

use std::time::Duration;

use console::KnownStack;
use domain::sending::SendSchedule;
use domain::{Erasure, RetrySchedule, TrustedReceivers};
use edge::Api;
use event_relay::Relay;
use inbox::{Files, Inbox, TemplateReader};
use leads::{Leads, Quotas};
use messages::Messages;
use provider::{FileClient, FileHosts, TemplateClient};
use provider_events::{Apps, ProviderEvents};
use runtime::SendRules;
use runtime::metrics::ApiFunction;
use store::Bucket;
use sweeper::Sweeper;
use uploads::Uploads;

use crate::captcha::Captcha;
use crate::desk::Desk;
use crate::management::Management;
use crate::parts::Parts;
use crate::receivers::Receivers;
use crate::templates;
use crate::times::{ATTEMPT, CALL, RESCUE};
use crate::whatsapp::WhatsApp;

/// One process of each function.
pub(crate) struct Machine {
    pub(crate) conversations: Api,
    pub(crate) contacts: Api,
    pub(crate) messages: Messages,
    pub(crate) attributes: Api,
    pub(crate) users: Api,
    pub(crate) files: Api,
    /// The bucket for `files`.
    pub(crate) bucket: Bucket,
    pub(crate) uploads: Uploads,
    pub(crate) leads: Leads<Captcha>,
    pub(crate) provider_events: ProviderEvents,
    pub(crate) inbox: Inbox,
    pub(crate) relay: Relay,
    pub(crate) message_sender: message_sender::Engine<WhatsApp>,
    pub(crate) lead_sender: lead_sender::Engine,
    pub(crate) people: people::Engine,
    pub(crate) delivery: webhook_delivery::Engine<Receivers>,
    pub(crate) sweeper: Sweeper,
    pub(crate) management: Management,
    /// Where an operator types commands.
    pub(crate) desk: Desk,
}

impl Machine {
    pub(crate) fn new(parts: &Parts<'_>) -> Self {
        let rules = || SendRules {
            schedule: SendSchedule::recommended(),
            call: CALL,
            lease: Duration::from_secs(90),
            rescue: RESCUE,
        };
        let graph = templates::graph(parts.whatsapp.registry());
        let templates = TemplateClient::simulated("https://graph.example.com", graph);
        let files = FileClient::new("http://127.0.0.1:1", "v25.0", FileHosts::parse("").expect("hosts"));
        let leads = parts.store("leads");
        Self {
            conversations: parts.api(ApiFunction::Conversations, "conversations"),
            contacts: parts.api(ApiFunction::Contacts, "contacts"),
            messages: Messages {
                api: parts.api(ApiFunction::Messages, "messages"),
                bucket: parts.bucket("messages"),
                first_due: RESCUE,
            },
            attributes: parts.api(ApiFunction::Attributes, "attributes"),
            users: parts.api(ApiFunction::Users, "users"),
            files: parts.api(ApiFunction::Files, "files"),
            bucket: parts.bucket("files"),
            uploads: Uploads { store: parts.store("uploads"), bucket: parts.bucket("uploads") },
            leads: Leads {
                quotas: Quotas::new(leads.clone()),
                store: leads,
                captcha: Captcha { clock: parts.clock() },
                first_due: RESCUE,
                longest: leads::LONGEST,
                metrics: parts.metrics(),
            },
            provider_events: ProviderEvents {
                store: parts.store("provider-events"),
                apps: Apps::default(),
                queue: parts.inbox_queue(),
                failures: parts.failures.bucket(),
                longest: provider_events::LONGEST,
                metrics: parts.metrics(),
            },
            inbox: Inbox {
                store: parts.store("inbox"),
                bucket: parts.bucket("inbox"),
                files: Files::new(files.expect("a client"), std::env::temp_dir()),
                templates: TemplateReader::new(templates.expect("a client")),
                queue: parts.inbox_queue(),
                failures: parts.failures.bucket(),
                metrics: parts.metrics(),
            },
            relay: Relay {
                store: parts.store("event-relay"),
                queues: parts.queues(),
                bucket: parts.bucket("event-relay"),
                rescue: RESCUE,
                partial: true,
                waits: Relay::WAITS,
                metrics: parts.metrics(),
            },
            message_sender: message_sender::Engine {
                store: parts.store("message-sender"),
                bucket: parts.bucket("message-sender"),
                queues: parts.queues(),
                inbox: parts.inbox_queue(),
                provider: parts.whatsapp.clone(),
                rules: rules(),
                metrics: parts.metrics(),
            },
            lead_sender: lead_sender::Engine {
                store: parts.store("lead-sender"),
                queues: parts.queues(),
                lease: rules().lease,
                rescue: RESCUE,
                metrics: parts.metrics(),
            },
            people: people::Engine {
                store: parts.store("people"),
                queues: parts.queues(),
                media: parts.bucket("people"),
                failures: parts.failures.bucket(),
                rules: people::Rules {
                    settle: Erasure::SETTLES,
                    lease: people::Rules::LEASE,
                    rescue: RESCUE,
                },
                metrics: parts.metrics(),
            },
            delivery: webhook_delivery::Engine {
                store: parts.store("webhook-delivery"),
                queues: parts.queues(),
                transport: parts.receivers.clone(),
                rules: webhook_delivery::Rules {
                    schedule: RetrySchedule::default(),
                    lease: Duration::from_secs(65),
                    attempt: ATTEMPT,
                    rescue: RESCUE,
                    trusted: TrustedReceivers::none(),
                },
                metrics: parts.metrics(),
            },
            sweeper: Sweeper {
                store: parts.store("sweeper"),
                queues: parts.queues(),
                budget: Sweeper::BUDGET,
                metrics: parts.metrics(),
            },
            management: Management::new(parts),
            desk: Desk {
                store: parts.world.db.operator_store(parts.clock(), parts.ids.clone()),
                stack: KnownStack {
                    operator: "operator".to_owned(),
                    streams: parts.world.db.streams(),
                    queues: parts.queues(),
                    inbound: parts.inbox_queue(),
                    media: parts.bucket.bucket(),
                    failures: parts.failures.bucket(),
                },
                random: parts.random.clone(),
            },
        }
    }
}
