//! The representations of resources in the API and the webhooks. Every documented field is present; an absent
//! value is `null`.

mod access;
mod deliveries;
mod received;
mod reported;
mod template;
mod template_content;
mod webhooks;

pub use access::{
    ActorView, ApiKeyView, ApiKeysView, AuditEntryView, AuditLogView, CreatedKeyView, OwnSessionView,
    OwnWorkspaceView, PortalLinkView, SessionView, SessionsView, StartedSessionView, SubjectView, api_key,
    audit_entry, created_key, own_session, portal_link, session, started_session,
};
pub use deliveries::{
    AttemptView, DeliveriesView, DeliveryDetailsView, DeliveryView, EventDetailsView, EventsView, HeaderView,
    JobsView, RecordedEventView, SentTestView, delivery, delivery_details, event, event_details, sent_test,
};
pub use received::{CardView, ContentView, OrderItemView, ProviderErrorView, ReferredProductView};
pub use reported::{
    AccountReportView, AccountView, BrandView, BrandsView, LineStateView, LineView, LinesView, NoticeView,
    RestrictionView, account_report, brand, line, line_state,
};
pub use template::{
    ProblemView, TemplatePreviewView, TemplateUpdatedView, TemplateView, TemplatesView, template,
    template_preview, template_updated,
};
pub use template_content::TemplateContentView;
pub use webhooks::{
    ActivatedView, ChangedEndpointView, CreatedEndpointView, EndpointDetailsView, HealthView, JobView,
    NewSecretView, RotationView, WebhookEndpointView, WebhookEndpointsView, activated_secret,
    changed_endpoint, created_endpoint, endpoint_details, job, new_secret, webhook_endpoint,
};

use std::collections::BTreeMap;

use admin::RetriedLeads;
use domain::attribute::{AttributeDefinition, ClosedValue};
use domain::choices::{Chooser, Held};
use domain::contact::conflict::Conflict;
use domain::inbound::keywords::Keywords;
use domain::lead::NotRetried;
use domain::media::Declared;
use domain::message::received::{Extras, Raw};
use domain::message::summary::{Direction, Tally};
use domain::message::{Content, Pricing, PricingWord, SentBy};
use domain::person::erasure::{ContactPreview, Preview};
use domain::sending::{PartError, in_words};
use domain::usage::{Counted, Counts};
use domain::webhook::pace::Pace;
use domain::webhook::{DisabledReason, PARKED_FOR};
use domain::{
    BrandId, BusinessAccountId, Capture, CaptureKey, ChannelId, ChoiceScope, Choices, Consent, Contact,
    ContactId, Conversation, Definitions, EndpointId, Erasure, Event, EventType, External, FileType,
    Internal, Lead, LeadId, Media, MediaId, Merge, Message, MessageBody, MessageId, Onboarding, PLATFORM,
    Part, ProviderUserId, Summary, Team, TemplateId, Tenure, Timestamp, User, UserId, WebOrigin,
    WebhookEndpoint, WorkspaceId,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Representations, each as its function and its type. A row is a field: its name in camel case, its type, its value.
macro_rules! views {
    ($($(#[$about:meta])* $vis:vis $show:ident($($argument:ident: $of:ty),*) -> $view:ident $(<$life:lifetime>)? {
        $($(#[$note:meta])* $field:ident: $type:ty = $value:expr,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Debug, Serialize)]
        #[serde(rename_all = "camelCase")]
        $vis struct $view $(<$life>)? {
            $($(#[$note])* $field: $type,)*
        }

        $(#[$about])*
        $vis fn $show $(<$life>)?($($argument: $of),*) -> $view $(<$life>)? {
            $view { $($field: $value,)* }
        }
    )*};
}

views! {
    /// A contact in endpoints 5 to 7 and in the `contact.*` events, with its attributes by the workspace's definitions at
    /// this time. Content of archived attributes stays stored but is not shown. The four fields that the specification shows
    /// for `contact.updated` come first.
    pub contact(contact: &'a Contact, definitions: &'a Definitions, now: Timestamp) -> ContactView<'a> {
        id: String = contact.id.to_string(),
        first_name: Option<&'a str> = contact.first_name.as_ref().map(|name| name.as_str()),
        last_name: Option<&'a str> = contact.last_name.as_ref().map(|name| name.as_str()),
        email: Option<&'a str> = contact.email.as_ref().map(|email| email.as_str()),
        cellphone: Option<&'a str> = contact.cellphone.as_ref().map(|cellphone| cellphone.as_str()),
        workspace_id: String = contact.workspace_id.to_string(),
        #[serde(rename = "type")]
        contact_type: &'static str = contact.contact_type(definitions, now).as_str(),
        language_code: Option<&'static str> = contact.language.map(|language| language.as_str()),
        owner_id: Option<String> = contact.owner.as_ref().map(|owner| owner.id.to_string()),
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_attributes: Option<Vec<ContactAttributeView<'a>>> =
            Some(definitions.active(now).filter_map(|definition| contact_attribute(contact, definition)).collect()),
        external_id: Option<&'a str> = contact.external_id.as_ref().map(|id| id.as_str()),
        provider_user_ids: Vec<ProviderUserIdView<'a>> = contact.user_ids.iter().map(provider_user_id).collect(),
        created_at: String = contact.created_at.to_string(),
        updated_at: String = contact.updated_at.to_string(),
    }

    /// The provider's id of a customer for one of the workspace's business accounts.
    provider_user_id(of: &'a (BusinessAccountId, ProviderUserId)) -> ProviderUserIdView<'a> {
        business_account_id: &'a str = of.0.as_str(),
        user_id: &'a str = of.1.as_str(),
    }

    /// A custom attribute definition in endpoint 8. The list of values of an OPEN one is empty.
    pub attribute(definition: &'a AttributeDefinition) -> AttributeView<'a> {
        id: String = definition.id.to_string(),
        category: &'static str = definition.category.as_str(),
        is_required: bool = definition.is_required,
        key_name: &'a str = &definition.key_name,
        #[serde(rename = "type")]
        attribute_type: &'static str = definition.attribute_type.as_str(),
        closed_attributes_values: Vec<ClosedValueView<'a>> =
            definition.closed_values.iter().map(closed_value).collect(),
        deleted_at: Option<String> = definition.deleted_at.map(|at| at.to_string()),
    }

    closed_value(value: &'a ClosedValue) -> ClosedValueView<'a> {
        id: String = value.id.to_string(),
        value: &'a str = &value.value,
    }

    /// The templates that open a workspace's conversations, and which of them a request's templates replace.
    pub onboarding(onboarding: &Onboarding) -> OnboardingView {
        #[serde(rename = "override")]
        overriding: &'static str = onboarding.overriding.as_str(),
        sequence: Vec<String> = onboarding.sequence.iter().map(TemplateId::to_string).collect(),
    }

    /// A customer who opted out. Neither the number nor the user id is known once the person was erased.
    pub opt_out(kept: &'a Choices) -> OptOutView<'a> {
        id: &'a str = &kept.digest,
        cellphone: Option<&'a str> = match &kept.chooser {
            Some(Chooser::Number(number)) => Some(number.as_str()),
            _ => None,
        },
        user_id: Option<&'a str> = match &kept.chooser {
            Some(Chooser::User(user)) => Some(user.as_str()),
            _ => None,
        },
        contact_id: Option<String> = kept.contact.map(|contact| contact.to_string()),
        choices: Vec<OptOutChoiceView<'a>> = kept.outs().map(|(scope, held)| opt_out_choice(scope, held)).collect(),
    }

    /// What the customer opted out of.
    opt_out_choice(scope: &'a ChoiceScope, held: &'a Held) -> OptOutChoiceView<'a> {
        scope: &'static str = scope.as_str(),
        provider_channel_id: Option<&'a str> = scope.line().map(ChannelId::as_str),
        source: &'static str = held.source.as_str(),
        since: String = held.since.to_string(),
    }

    /// An internal user in endpoint 9.
    pub user(user: &'a User) -> UserView<'a> {
        id: String = user.id.to_string(),
        status: &'static str = user.status.as_str(),
        created_at: String = user.created_at.to_string(),
        updated_at: String = user.updated_at.to_string(),
        first_name: Option<&'a str> = user.first_name.as_ref().map(|name| name.as_str()),
        last_name: Option<&'a str> = user.last_name.as_ref().map(|name| name.as_str()),
        email: &'a str = user.email.as_str(),
        cellphone: Option<&'a str> = user.cellphone.as_ref().map(|cellphone| cellphone.as_str()),
        language_code: Option<&'static str> = user.language.map(|language| language.as_str()),
    }

    /// A team of internal users. `users` has its members, among others.
    pub team(team: &'a Team, users: &'a [User]) -> TeamView<'a> {
        id: String = team.id.to_string(),
        name: &'a str = &team.name,
        members: Vec<MemberView<'a>> = team.members.iter().filter_map(|id| users.iter().find(|user| user.id == *id)).map(member).collect(),
        created_at: String = team.created_at.to_string(),
    }

    /// The same with the ids of its members only, for its tag.
    pub team_by_ids(team: &'a Team) -> TeamByIdsView<'a> {
        id: String = team.id.to_string(),
        name: &'a str = &team.name,
        members: Vec<String> = team.members.iter().map(UserId::to_string).collect(),
        created_at: String = team.created_at.to_string(),
    }

    /// A member of a team.
    member(user: &'a User) -> MemberView<'a> {
        id: String = user.id.to_string(),
        email: &'a str = user.email.as_str(),
    }

    /// A conversation in endpoints 1 to 4 and in the `conversation.*` events.
    pub conversation(conversation: &'a Conversation) -> ConversationView<'a> {
        id: String = conversation.id.to_string(),
        workspace_id: String = conversation.workspace_id.to_string(),
        participants: ParticipantsView = participants(conversation),
        created_at: String = conversation.created_at.to_string(),
        updated_at: String = conversation.updated_at.to_string(),
        name: Option<&'a str> = conversation.name.as_ref().map(|name| name.as_str()),
        status: &'static str = conversation.status.as_str(),
    }

    /// The participants of a conversation, each with the caller's identifier in its canonical form.
    pub participants(conversation: &Conversation) -> ParticipantsView {
        externals: Vec<ParticipantView> = conversation.externals.iter().map(external).collect(),
        internals: Vec<ParticipantView> = conversation.internals.iter().map(internal).collect(),
    }

    /// The payload of `conversation_summary.created`.
    pub summary(summary: &Summary) -> SummaryView {
        conversation_id: String = summary.conversation.id.to_string(),
        messages: TallyView = tally(&summary.tally),
        first_message_at: Option<String> = summary.tally.first.map(|at| at.to_string()),
        last_message_at: Option<String> = summary.tally.last.map(|at| at.to_string()),
        participants: ParticipantsView = participants(&summary.conversation),
        duration_seconds: u64 = summary.duration().as_secs(),
    }

    tally(tally: &Tally) -> TallyView {
        inbound: usize = tally.inbound,
        outbound: usize = tally.outbound,
        internal: usize = tally.internal,
    }

    /// A lead in the `lead.*` events. It contains the ids of contact, conversation and message once they exist.
    pub lead(lead: &'a Lead) -> LeadView<'a> {
        request_id: String = lead.id.to_string(),
        state: &'static str = lead.state.as_str(),
        cellphone: &'a str = lead.cellphone.as_str(),
        name: Option<&'a str> = lead.name.as_ref().map(|name| name.as_str()),
        error: Option<&'a str> = lead.error.as_ref().map(|error| error.as_str()),
        error_in_words: Option<&'static str> = lead.error.as_ref().and_then(in_words),
        error_detail: Option<&'a str> = lead.error.as_ref().and_then(error_detail),
        contact_id: Option<String> = lead.opened.then(|| lead.contact.to_string()),
        conversation_id: Option<String> = lead.opened.then(|| lead.conversation.to_string()),
        message_id: Option<String> = lead.sent_message().map(|message| message.to_string()),
        brand_id: &'a str = lead.brand.as_str(),
        landing_uri: &'a str = lead.landing_uri.as_str(),
        utm: &'a BTreeMap<String, String> = lead.utm.values(),
        consent: ConsentView<'a> = consent(&lead.consent),
        created_at: String = lead.created_at.to_string(),
        updated_at: String = lead.updated_at.to_string(),
    }

    /// A lead in the API. It contains the ids of contact, conversation and message once they exist.
    pub lead_record(lead: &'a Lead) -> LeadRecordView<'a> {
        id: String = lead.id.to_string(),
        state: &'static str = lead.state.as_str(),
        error: Option<&'a str> = lead.error.as_ref().map(|error| error.as_str()),
        error_in_words: Option<&'static str> = lead.error.as_ref().and_then(in_words),
        error_detail: Option<&'a str> = lead.error.as_ref().and_then(error_detail),
        cellphone: &'a str = lead.cellphone.as_str(),
        name: Option<&'a str> = lead.name.as_ref().map(|name| name.as_str()),
        brand_id: &'a str = lead.brand.as_str(),
        landing_uri: &'a str = lead.landing_uri.as_str(),
        utm: &'a BTreeMap<String, String> = lead.utm.values(),
        consent: ConsentView<'a> = consent(&lead.consent),
        contact_id: Option<String> = lead.opened.then(|| lead.contact.to_string()),
        conversation_id: Option<String> = lead.opened.then(|| lead.conversation.to_string()),
        message_id: Option<String> = lead.sent_message().map(|message| message.to_string()),
        created_at: String = lead.created_at.to_string(),
        updated_at: String = lead.updated_at.to_string(),
    }

    /// A lead that was not retried.
    lead_refusal(of: &(LeadId, NotRetried)) -> LeadRefusalView {
        id: String = of.0.to_string(),
        reason: &'static str = of.1.as_str(),
    }

    /// What became of a page of leads that were to be retried.
    pub lead_retries(done: &RetriedLeads, cursor: Option<String>) -> LeadRetriesView {
        retried: Vec<String> = done.retried.iter().map(LeadId::to_string).collect(),
        refused: Vec<LeadRefusalView> = done.refused.iter().map(lead_refusal).collect(),
        cursor: Option<String> = cursor,
    }

    /// The visitor's consent. Where it came from stays with the service.
    consent(consent: &'a Consent) -> ConsentView<'a> {
        status: &'static str = consent.status.as_str(),
        text: Option<&'a str> = consent.text.as_ref().map(|text| text.as_str()),
        captured_at: Option<String> = consent.captured_at.map(|at| at.to_string()),
        received_at: String = consent.received_at.to_string(),
    }

    /// The payload of `contact.opted_out` and `contact.opted_in`. It has no number: the row of an erased person has none,
    /// too.
    pub choice(choices: &'a Choices, scope: &'a ChoiceScope, held: &Held) -> ChoiceView<'a> {
        contact_id: Option<String> = choices.contact.map(|contact| contact.to_string()),
        workspace_id: String = choices.workspace_id.to_string(),
        scope: &'static str = scope.as_str(),
        provider_channel_id: Option<&'a str> = scope.line().map(ChannelId::as_str),
        source: &'static str = held.source.as_str(),
        #[serde(skip_serializing_if = "Option::is_none")]
        opted_out_at: Option<String> = held.is_out().then(|| held.since.to_string()),
        #[serde(skip_serializing_if = "Option::is_none")]
        opted_in_at: Option<String> = (!held.is_out()).then(|| held.since.to_string()),
    }

    /// The payload of `contact.merged`: the contact that stays as it is now, and the other one as it was. The first is `null`
    /// if it was erased or merged itself by then.
    pub merged(
        into: ContactId,
        of: &Contact,
        at: Timestamp,
        contact: Option<ContactView<'a>>,
        merged: ContactView<'a>
    ) -> MergedView<'a> {
        contact_id: String = into.to_string(),
        merged_contact_id: String = of.id.to_string(),
        workspace_id: String = of.workspace_id.to_string(),
        merged_at: String = at.to_string(),
        contact: Option<ContactView<'a>> = contact,
        merged: ContactView<'a> = merged,
    }

    /// A merge that was asked for.
    pub merge(of: &Merge) -> MergeView {
        contact_id: String = of.survivor.to_string(),
        merged_contact_id: String = of.merged.to_string(),
        workspace_id: String = of.workspace_id.to_string(),
        asked_at: String = of.asked_at.to_string(),
    }

    /// The payload of `contact.conflict`.
    pub conflict(conflict: &Conflict) -> ConflictView {
        contact_id: String = conflict.contact.to_string(),
        workspace_id: String = conflict.workspace_id.to_string(),
        reason: &'static str = conflict.reason.as_str(),
        other_contact_id: Option<String> = conflict.other.map(|other| other.to_string()),
        occurred_at: String = conflict.at.to_string(),
    }

    /// The payload of `contact.erased`.
    pub erased(contact: ContactId, workspace: WorkspaceId, at: Timestamp) -> ErasedView {
        id: String = contact.to_string(),
        workspace_id: String = workspace.to_string(),
        erased_at: String = at.to_string(),
    }

    /// An erasure or a preview. Once an erasure is done, this is its receipt. The MACs of the receipt are for `person verify`.
    pub erasure(erasure: &'a Erasure) -> ErasureView<'a> {
        erasure_id: String = erasure.id.to_string(),
        workspace_id: String = erasure.workspace_id.to_string(),
        state: &'static str = erasure.state.as_str(),
        dry_run: bool = erasure.is_preview,
        contact_ids: Vec<String> = erasure.contacts.iter().map(ContactId::to_string).collect(),
        asked_at: String = erasure.asked_at.to_string(),
        asked_by: &'a str = &erasure.asked_by,
        done_at: Option<String> = erasure.done_at.map(|at| at.to_string()),
        counts: &'a BTreeMap<String, u64> = erasure.preview.as_ref().map_or(&erasure.counts, |found| &found.counts),
        preview: Option<PreviewView<'a>> = erasure.preview.as_ref().map(preview),
    }

    /// What a preview found. The leads are from times in which nobody is known to have had one of the numbers.
    preview(found: &'a Preview) -> PreviewView<'a> {
        contacts: Vec<ContactPreviewView<'a>> = found.contacts.iter().map(contact_preview).collect(),
        unassigned_lead_ids: Vec<String> = found.nobodys_leads.iter().map(LeadId::to_string).collect(),
    }

    /// What goes with a contact, when it had each of its numbers, and when others had one of them.
    pub contact_preview(found: &'a ContactPreview) -> ContactPreviewView<'a> {
        contact_id: String = found.contact.to_string(),
        counts: &'a BTreeMap<String, u64> = &found.counts,
        numbers: Vec<TenureView> = found.numbers.iter().map(tenure).collect(),
        others: Vec<TenureView> = found.others.iter().map(tenure).collect(),
    }

    /// A contact's time with a number.
    tenure(of: &Tenure) -> TenureView {
        contact_id: String = of.contact.to_string(),
        from: String = of.from.to_string(),
        to: Option<String> = of.to.map(|to| to.to_string()),
    }

    /// The payload of `event.redacted`: the type of the event whose data was erased.
    pub redacted(event_type: EventType) -> RedactedView {
        event_type: &'static str = event_type.as_str(),
    }

    /// The payload of `webhook.endpoint_disabled`.
    pub endpoint_disabled(
        endpoint: &'a WebhookEndpoint,
        since: Timestamp,
        reason: DisabledReason
    ) -> EndpointDisabledView<'a> {
        endpoint_id: String = endpoint.id.to_string(),
        url: &'a str = endpoint.url.as_str(),
        reason: &'static str = reason.as_str(),
        since: String = since.to_string(),
        parked_until: String = since.plus(PARKED_FOR).to_string(),
    }

    /// The payload of `webhook.endpoint_failing`.
    pub endpoint_failing(endpoint: &'a WebhookEndpoint, since: Timestamp) -> EndpointFailingView<'a> {
        endpoint_id: String = endpoint.id.to_string(),
        url: &'a str = endpoint.url.as_str(),
        failing_since: String = since.to_string(),
        disabled_at: String = since.plus(Pace::DAYS).to_string(),
    }

    /// The payload of `webhook.test`.
    pub trial(endpoint: EndpointId) -> TrialView {
        endpoint_id: String = endpoint.to_string(),
    }

    /// A message in the `message.*` events and in answers.
    pub message(message: &'a Message) -> MessageView<'a> {
        id: String = message.id.to_string(),
        conversation_id: String = message.conversation.to_string(),
        workspace_id: String = message.workspace_id.to_string(),
        sequence: u64 = message.seq,
        direction: &'static str = message.direction().as_str(),
        sender: SenderView = sender(message),
        #[serde(rename = "type")]
        message_type: &'static str = message.message_type().as_str(),
        message_body: Option<&'a str> = body_of(message),
        /// `null` for what the workspace writes and for a customer's text: the other fields show it.
        content: Option<ContentView<'a>> = message_content(message),
        referral: Option<Map<String, Value>> = extras_of(message).and_then(|extras| extras.referral.as_ref()).map(received::referral),
        referred_product: Option<ReferredProductView<'a>> =
            extras_of(message).and_then(|extras| extras.referred_product.as_ref()).map(received::referred_product),
        forwarded: Option<&'static str> = extras_of(message).map(|extras| extras.forwarded.as_str()),
        provider_errors: Vec<ProviderErrorView<'a>> =
            extras_of(message).map_or(&[][..], |extras| &extras.errors).iter().map(received::provider_error).collect(),
        raw: Option<Value> = raw_of(message).map(received::raw),
        raw_truncated: bool = raw_of(message).is_some_and(Raw::is_cut),
        media_ids: Vec<String> = message.files().iter().map(|file| file.media.to_string()).collect(),
        reply_to_message_id: Option<String> = message.reply_to.map(|id| id.to_string()),
        enable_external_broadcast: bool = message.direction() == Direction::Outbound,
        status: &'static str = message.shown_status(),
        parts: Vec<PartView<'a>> = message.parts.iter().map(part).collect(),
        created_at: String = message.created_at.to_string(),
        updated_at: String = message.updated_at.to_string(),
        edited_at: Option<String> = extras_of(message).and_then(|extras| extras.edit.as_ref()).map(|edit| edit.at.to_string()),
        revoked_at: Option<String> = extras_of(message).and_then(|extras| extras.revoked_at).map(|at| at.to_string()),
        delivered_at: Option<String> = message.delivered_at().map(|at| at.to_string()),
        read_at: Option<String> = message.read_at().map(|at| at.to_string()),
    }

    /// The author of a message.
    sender(message: &Message) -> SenderView {
        #[serde(rename = "type")]
        sender_type: &'static str = message.sent_by.as_str(),
        contact_id: Option<String> = match &message.content {
            Content::Received(received) if message.sent_by == SentBy::Customer => Some(received.contact.to_string()),
            Content::Received(_) | Content::Written { .. } | Content::Template(_) => None,
        },
    }

    part(part: &'a Part) -> PartView<'a> {
        recipient: String = part.recipient.to_string(),
        index: usize = part.index,
        status: &'static str = part.status.as_str(),
        provider_message_id: Option<&'a str> = part.provider_message_id.as_deref(),
        error: Option<&'a str> = part.error.as_ref().map(|error| error.as_str()),
        error_in_words: Option<&'static str> = part.error.as_ref().and_then(in_words),
        /// What is known about the error besides its code: the provider's words, or what to do.
        error_detail: Option<&'a str> = part.error.as_ref().and_then(error_detail),
        /// The text of a template as this recipient gets it.
        text: Option<&'a str> = part.text.as_deref(),
        /// Whether the provider accepted the part and holds it.
        held: bool = part.is_held,
        pricing: Option<PricingView<'a>> = part.pricing.as_ref().map(|priced| pricing(&priced.pricing)),
        delivered_at: Option<String> = part.delivered_at.map(|at| at.to_string()),
        read_at: Option<String> = part.read_at.map(|at| at.to_string()),
    }

    /// What the provider charges for a part, in its words.
    pub pricing(pricing: &'a Pricing) -> PricingView<'a> {
        category: Option<&'a str> = pricing.category.as_ref().map(PricingWord::as_str),
        #[serde(rename = "type")]
        kind: Option<&'a str> = pricing.kind.as_ref().map(PricingWord::as_str),
        billable: Option<bool> = pricing.billable,
    }

    /// Endpoint 11: the accepted message.
    pub message_created(id: MessageId) -> MessageCreatedView {
        message_id: String = id.to_string(),
        messaging_product: &'static str = PLATFORM,
    }

    /// A file in endpoint 10, with the signed URL for its upload.
    pub upload(id: MediaId, file: &'a Declared, url: String) -> UploadView<'a> {
        media_id: String = id.to_string(),
        presign_url: PresignedView<'a> = presigned(file, url),
    }

    /// What happened from this time until the next step.
    pub usage_step(step: &'a Counted) -> UsageStepView<'a> {
        at: String = step.at.to_string(),
        counts: &'a Counts = &step.counts,
    }

    presigned(file: &'a Declared, url: String) -> PresignedView<'a> {
        url: String = url,
        method: &'static str = "PUT",
        headers: UploadHeadersView<'a> = upload_headers(file),
    }

    /// The headers that an upload must have. The URL is signed for them.
    upload_headers(file: &'a Declared) -> UploadHeadersView<'a> {
        #[serde(rename = "Content-Type")]
        content_type: &'a str = file.content_type,
        #[serde(rename = "x-amz-checksum-sha256")]
        checksum: &'a str = file.digest.as_str(),
        #[serde(rename = "Content-Length", skip_serializing_if = "Option::is_none")]
        content_length: Option<String> = file.size.map(|size| size.to_string()),
    }

    /// A file of this size with a signed URL for its download, which is valid until `expires_at`.
    pub file(media: &'a Media, size: u64, url: String, expires_at: Timestamp) -> FileView<'a> {
        media_id: String = media.id.to_string(),
        url: String = url,
        expires_at: String = expires_at.to_string(),
        file_name: &'a str = media.name.as_str(),
        file_type: &'static str = media.file_type.as_str(),
        content_type: &'static str = FileType::served_as(&media.content_type),
        size_bytes: u64 = size,
        checksum_base64: &'a str = media.digest.as_str(),
        created_at: String = media.created_at.to_string(),
    }
}

/// Endpoint 5: a page of contacts. The cursor of the last page is the empty string, because its type in the
/// specification is `string`.
#[derive(Debug, Serialize)]
pub struct ContactsView<'a> {
    /// The contacts of the page.
    pub contacts: Vec<ContactView<'a>>,
    /// The cursor of the next page.
    pub cursor: String,
}

/// The usage of a workspace.
#[derive(Debug, Serialize)]
pub struct UsageView<'a> {
    /// The steps in the order of time, without gaps.
    pub steps: Vec<UsageStepView<'a>>,
}

/// A page of leads.
#[derive(Debug, Serialize)]
pub struct LeadsView<'a> {
    /// The leads of the page, newest first.
    pub leads: Vec<LeadRecordView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A page of internal users.
#[derive(Debug, Serialize)]
pub struct UsersView<'a> {
    /// The users of the page, in the order of their ids.
    pub users: Vec<UserView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A page of teams.
#[derive(Debug, Serialize)]
pub struct TeamsView<'a> {
    /// The teams of the page, in the order of their ids.
    pub teams: Vec<TeamView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// Endpoint 8: the definitions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttributesView<'a> {
    /// The definitions in the order of their creation.
    pub custom_attributes: Vec<AttributeView<'a>>,
}

/// A page of opt-outs. The cursor of the last page is `null`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OptOutsView<'a> {
    /// The opt-outs of the page.
    pub opt_outs: Vec<OptOutView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// The keywords by which customers opt out and in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeywordsView {
    stop: Vec<String>,
    stop_marketing: Vec<String>,
    start: Vec<String>,
    is_default: bool,
}

/// The keywords of a workspace; `None` are the default ones.
pub fn keywords(own: Option<&Keywords>) -> KeywordsView {
    let is_default = own.is_none();
    let keywords = own.cloned().unwrap_or_default();
    KeywordsView {
        stop: keywords.stop().to_vec(),
        stop_marketing: keywords.stop_marketing().to_vec(),
        start: keywords.start().to_vec(),
        is_default,
    }
}

/// The settings of lead capture.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureView<'a> {
    enabled: bool,
    capture_key: Option<&'a str>,
    origins: Vec<&'a str>,
    brand_id: Option<&'a str>,
    lead_template_id: Option<String>,
    threshold: f64,
    daily_cap: Option<u32>,
    phone_cap: Option<u32>,
    rate: u32,
    has_secret: bool,
    unreachable_brands: Vec<&'a str>,
    capture_url: &'a str,
    script_url: String,
}

/// The settings of lead capture at the API with this URL. Lead capture that is not set up has no key.
pub fn capture<'a>(
    capture: &'a Capture,
    key: Option<&'a CaptureKey>,
    unreachable: &[&'a BrandId],
    url: &'a str,
) -> CaptureView<'a> {
    CaptureView {
        enabled: capture.enabled,
        capture_key: key.map(CaptureKey::as_str),
        origins: capture.origins.iter().map(WebOrigin::as_str).collect(),
        brand_id: capture.brand.as_ref().map(BrandId::as_str),
        lead_template_id: capture.template.map(|id| id.to_string()),
        threshold: f64::from(capture.threshold.hundredths()) / 100.0,
        daily_cap: capture.caps.daily,
        phone_cap: capture.caps.per_phone,
        rate: capture.rate,
        has_secret: capture.has_secret,
        unreachable_brands: unreachable.iter().map(|brand| brand.as_str()).collect(),
        capture_url: url,
        script_url: format!("{url}{}", Capture::SCRIPT),
    }
}

/// Endpoint 2: a page of conversations. The cursor of the last page is `null`.
#[derive(Debug, Serialize)]
pub struct ConversationsView<'a> {
    /// The conversations of the page.
    pub conversations: Vec<ConversationView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A page of the messages of a conversation. The cursor of the last page is `null`.
#[derive(Debug, Serialize)]
pub struct MessagesView<'a> {
    /// The messages of the page.
    pub messages: Vec<MessageView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

impl ContactView<'_> {
    /// The contact without `customAttributes`, for an event that would exceed the size limit. CLOSED
    /// attributes store the ids of their values, and the shown values can have thousands of characters.
    pub fn without_attributes(self) -> Self {
        Self { custom_attributes: None, ..self }
    }
}

#[derive(Debug, Serialize)]
struct ContactAttributeView<'a> {
    key: &'a str,
    values: Vec<&'a str>,
}

fn contact_attribute<'a>(
    contact: &'a Contact,
    definition: &'a AttributeDefinition,
) -> Option<ContactAttributeView<'a>> {
    let values = contact.attributes.get(&definition.id)?.texts(definition);
    Some(ContactAttributeView { key: &definition.key_name, values })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParticipantView {
    identifier: String,
    identifier_type: &'static str,
    role: &'static str,
    joined_at: String,
    last_seen_at: Option<String>,
}

fn external(External { shown, joined_at, last_seen_at, .. }: &External) -> ParticipantView {
    participant(shown.identifier(), shown.identifier_type(), "EXTERNAL", *joined_at, *last_seen_at)
}

fn internal(Internal { shown, joined_at, last_seen_at, .. }: &Internal) -> ParticipantView {
    participant(shown.identifier(), shown.identifier_type(), "INTERNAL", *joined_at, *last_seen_at)
}

fn participant(
    identifier: String,
    identifier_type: &'static str,
    role: &'static str,
    joined_at: Timestamp,
    last_seen_at: Option<Timestamp>,
) -> ParticipantView {
    let (joined_at, last_seen_at) = (joined_at.to_string(), last_seen_at.map(|at| at.to_string()));
    ParticipantView { identifier, identifier_type, role, joined_at, last_seen_at }
}

fn body_of(message: &Message) -> Option<&str> {
    match &message.content {
        Content::Written { body, .. } => body.as_ref().map(MessageBody::as_str),
        Content::Template(_) => None,
        Content::Received(received) => received.text(),
    }
}

/// The object `content` of a message: what a customer's message shows that is neither a text nor the id of a file.
pub fn message_content(message: &Message) -> Option<ContentView<'_>> {
    match &message.content {
        Content::Received(received) => received::content(&received.what, &received.extras),
        Content::Template(content) => {
            Some(ContentView::Template(template_content::template_content(content)))
        }
        Content::Written { .. } => None,
    }
}

fn error_detail(error: &PartError) -> Option<&str> {
    error.detail().or_else(|| (error.as_str() == PartError::OUTSIDE_WINDOW).then_some(SEND_A_TEMPLATE))
}

/// What to do about [`PartError::OUTSIDE_WINDOW`].
const SEND_A_TEMPLATE: &str =
    "The customer has not written for 24 hours. Send a template: POST /messages with `template`.";

fn extras_of(message: &Message) -> Option<&Extras> {
    match &message.content {
        Content::Received(received) => Some(&*received.extras),
        Content::Written { .. } | Content::Template(_) => None,
    }
}

fn raw_of(message: &Message) -> Option<&Raw> {
    extras_of(message)?.raw.as_ref()
}

/// The body of an event whose data was erased with the person that it was about. It has the same id and says
/// what type the event had.
pub fn redacted_body(event: &Event) -> Result<Vec<u8>, serde_json::Error> {
    let note = Event { event_type: EventType::EventRedacted, ..event.clone() };
    event_body(&note, &redacted(event.event_type))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventView<'a, P> {
    event_id: String,
    event_type: &'static str,
    entity: &'static str,
    workspace_id: String,
    timestamp: String,
    payload: &'a P,
}

/// The body of a webhook: the event and its payload. The bytes are made once and never change. The order of
/// the fields is fixed; the timestamp has no milliseconds.
pub fn event_body(event: &Event, payload: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&EventView {
        event_id: event.id.to_string(),
        event_type: event.event_type.as_str(),
        entity: event.event_type.entity(),
        workspace_id: event.workspace_id.to_string(),
        timestamp: event.at.to_seconds_string(),
        payload,
    })
}

#[cfg(test)]
mod tests {
    use domain::media::{Attached, FileName};
    use domain::message::Draft;
    use domain::sending::PartError;
    use domain::settings::template::{ParameterValue, Shown, TemplateContent};
    use domain::{
        BrandId, ChannelId, ContactId, ContactRef, ConversationId, FileType, MediaId, MessageBody,
        MessageStatus, TemplateCategory, TemplateId, WorkspaceId,
    };
    use uuid::Uuid;

    use super::*;

    fn uuid(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    /// A message with a file to one customer, which answers another message.
    fn said() -> Message {
        let at = Timestamp::from_millis(1_767_323_045_678);
        let contact = ContactId::from_uuid(uuid(4));
        let conversation = Conversation {
            externals: vec![External {
                contact,
                shown: ContactRef::Id(contact),
                channel: ChannelId::parse("line").unwrap(),
                brand: BrandId::parse("brand").unwrap(),
                joined_at: at,
                last_seen_at: None,
            }],
            ..Conversation::blank(ConversationId::from_uuid(uuid(2)), WorkspaceId::from_uuid(uuid(3)), at)
        };
        let sound = Attached {
            media: MediaId::from_uuid(uuid(5)),
            file_type: FileType::Audio,
            content_type: "audio/ogg".to_owned(),
            name: FileName::parse("a.ogg").unwrap(),
            size: 1,
        };
        let draft = Draft {
            conversation: conversation.id,
            body: MessageBody::parse("Hello").ok(),
            media: vec![sound.media],
            broadcast: true,
            reply_to: Some(MessageId::from_uuid(uuid(6))),
        };
        draft.message(MessageId::from_uuid(uuid(1)), &conversation, 1, vec![sound], at)
    }

    fn shown(message: &Message) -> String {
        serde_json::to_string_pretty(&super::message(message)).unwrap()
    }

    #[test]
    fn a_message_shows_its_parts_and_the_status_of_the_least_advanced_one() {
        let mut said = said();
        said.parts[0].status = MessageStatus::Read;
        said.parts[0].provider_message_id = Some("wamid.1".to_owned());
        said.parts[0].delivered_at = Some(Timestamp::from_millis(1_767_323_047_000));
        said.parts[0].read_at = Some(Timestamp::from_millis(1_767_323_048_000));
        said.parts[1].status = MessageStatus::Failed;
        said.parts[1].error = Some(PartError::of("131026"));
        insta::assert_snapshot!(shown(&said), @r#"
        {
          "id": "00000000-0000-0000-0000-000000000001",
          "conversationId": "00000000-0000-0000-0000-000000000002",
          "workspaceId": "00000000-0000-0000-0000-000000000003",
          "sequence": 1,
          "direction": "OUTBOUND",
          "sender": {
            "type": "API",
            "contactId": null
          },
          "type": "MEDIA",
          "messageBody": "Hello",
          "content": null,
          "referral": null,
          "referredProduct": null,
          "forwarded": null,
          "providerErrors": [],
          "raw": null,
          "rawTruncated": false,
          "mediaIds": [
            "00000000-0000-0000-0000-000000000005"
          ],
          "replyToMessageId": "00000000-0000-0000-0000-000000000006",
          "enableExternalBroadcast": true,
          "status": "FAILED",
          "parts": [
            {
              "recipient": "00000000-0000-0000-0000-000000000004",
              "index": 0,
              "status": "READ",
              "providerMessageId": "wamid.1",
              "error": null,
              "errorInWords": null,
              "errorDetail": null,
              "text": null,
              "held": false,
              "pricing": null,
              "deliveredAt": "2026-01-02T03:04:07.000Z",
              "readAt": "2026-01-02T03:04:08.000Z"
            },
            {
              "recipient": "00000000-0000-0000-0000-000000000004",
              "index": 1,
              "status": "FAILED",
              "providerMessageId": null,
              "error": "131026",
              "errorInWords": "WhatsApp cannot deliver to this number: it may have no WhatsApp, an old version or terms not accepted",
              "errorDetail": null,
              "text": null,
              "held": false,
              "pricing": null,
              "deliveredAt": null,
              "readAt": null
            }
          ],
          "createdAt": "2026-01-02T03:04:05.678Z",
          "updatedAt": "2026-01-02T03:04:05.678Z",
          "editedAt": null,
          "revokedAt": null,
          "deliveredAt": null,
          "readAt": null
        }
        "#);
    }

    #[test]
    fn an_internal_note_shows_that_it_does_not_go_to_customers() {
        let content = Content::Written { body: None, media: vec![], broadcast: false };
        let note = Message { content, reply_to: None, recipients: vec![], parts: vec![], ..said() };
        insta::assert_snapshot!(shown(&note), @r#"
        {
          "id": "00000000-0000-0000-0000-000000000001",
          "conversationId": "00000000-0000-0000-0000-000000000002",
          "workspaceId": "00000000-0000-0000-0000-000000000003",
          "sequence": 1,
          "direction": "INTERNAL",
          "sender": {
            "type": "API",
            "contactId": null
          },
          "type": "TEXT",
          "messageBody": null,
          "content": null,
          "referral": null,
          "referredProduct": null,
          "forwarded": null,
          "providerErrors": [],
          "raw": null,
          "rawTruncated": false,
          "mediaIds": [],
          "replyToMessageId": null,
          "enableExternalBroadcast": false,
          "status": "QUEUED",
          "parts": [],
          "createdAt": "2026-01-02T03:04:05.678Z",
          "updatedAt": "2026-01-02T03:04:05.678Z",
          "editedAt": null,
          "revokedAt": null,
          "deliveredAt": null,
          "readAt": null
        }
        "#);
    }

    #[test]
    fn a_template_shows_what_was_accepted_and_what_each_recipient_got() {
        let said = said();
        let Content::Written { media, .. } = &said.content else { panic!("it is written") };
        let content = TemplateContent {
            template: TemplateId::from_uuid(uuid(7)),
            parameters: [("order".to_owned(), ParameterValue::parse("7").unwrap())].into(),
            files: [("header.document".to_owned(), media[0].clone())].into(),
            shown: Shown {
                name: "order_sent".to_owned(),
                language: "en_US".to_owned(),
                category: Some(TemplateCategory::Utility),
                text: Some("Hi {{firstName}}: 7".to_owned()),
            },
        };
        let mut template = Message { content: Content::Template(content), ..said };
        template.parts[0].text = Some("Hi Ana: 7".to_owned());
        template.parts[0].error = Some(PartError::of("132001").because("It does not exist."));
        template.parts[1].error = Some(PartError::of(PartError::OUTSIDE_WINDOW));
        let shown: Value = serde_json::from_str(&shown(&template)).unwrap();
        let content = serde_json::json!({
            "templateId": uuid(7).to_string(),
            "name": "order_sent",
            "language": "en_US",
            "category": "UTILITY",
            "text": "Hi {{firstName}}: 7",
            "parameters": { "order": "7" },
        });
        let parts = &shown["parts"];
        assert_eq!((&shown["content"], &parts[0]["text"]), (&content, &"Hi Ana: 7".into()));
        assert_eq!(
            (&parts[0]["errorDetail"], &parts[1]["text"]),
            (&"It does not exist.".into(), &Value::Null)
        );
        assert_eq!(parts[1]["errorDetail"], SEND_A_TEMPLATE);
        assert_eq!(
            (&shown["messageBody"], &shown["mediaIds"]),
            (&Value::Null, &serde_json::json!([uuid(5).to_string()]))
        );
        assert_eq!(shown["enableExternalBroadcast"], true);
        assert_eq!((&shown["type"], &shown["direction"]), (&"TEMPLATE".into(), &"OUTBOUND".into()));
    }
}
