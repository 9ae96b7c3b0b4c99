"""Calls every operation with the client of openapi-python-client. Prints the name of each operation that succeeded.

The environment names a running stack (see ../test_driving.py).
"""

import base64
import hashlib
import datetime
import json
import os
import time
import urllib.request
import uuid
from typing import Any, TypeVar

from messaging_client import AuthenticatedClient, Client
from messaging_client.api.access import (
    create_api_key,
    create_portal_link,
    end_session,
    get_api_key,
    get_session,
    list_api_keys,
    list_audit_log,
    list_sessions,
    revoke_api_key,
    revoke_session,
    start_session,
    update_api_key,
)
from messaging_client.api.contacts import (
    create_opt_out,
    delete_opt_out,
    erase_contact,
    get_contact,
    get_erasure,
    list_contacts,
    list_opt_outs,
    merge_contacts,
    update_contact,
)
from messaging_client.api.conversations import (
    create_conversation,
    get_conversation,
    list_conversations,
    update_conversation,
)
from messaging_client.api.files import create_uploads, get_file
from messaging_client.api.lead_capture import (
    create_campaign_lead,
    get_capture_health,
    get_lead_script,
    preflight_campaign_lead,
)
from messaging_client.api.leads import get_lead, list_leads, retry_lead, retry_leads
from messaging_client.api.messages import create_message, get_message, list_messages
from messaging_client.api.settings import (
    add_custom_attribute_value,
    create_custom_attribute,
    get_custom_attribute,
    get_lead_capture,
    get_onboarding,
    get_opt_out_keywords,
    get_usage,
    list_brands,
    list_custom_attributes,
    list_lines,
    rename_custom_attribute_value,
    reset_opt_out_keywords,
    rotate_lead_capture_key,
    set_onboarding,
    set_opt_out_keywords,
    update_custom_attribute,
    update_lead_capture,
)
from messaging_client.api.templates import get_template, list_templates, preview_template
from messaging_client.api.users import (
    create_team,
    create_user,
    delete_team,
    get_team,
    get_user,
    list_teams,
    list_users,
    update_team,
    update_user,
)
from messaging_client.api.webhook_deliveries import (
    cancel_webhook_job,
    get_delivery,
    get_event,
    get_webhook_job,
    list_deliveries,
    list_events,
    list_webhook_jobs,
    request_webhook_job,
    retry_delivery,
    test_webhook_endpoint,
)
from messaging_client.api.webhook_endpoints import (
    activate_webhook_secret,
    create_webhook_endpoint,
    delete_webhook_endpoint,
    disable_webhook_endpoint,
    enable_webhook_endpoint,
    get_webhook_endpoint,
    list_webhook_endpoints,
    rotate_webhook_secret,
    update_webhook_endpoint,
)
from messaging_client.models import (
    ApiKey,
    ApiKeyCreate,
    ApiKeyCreated,
    ApiKeyPage,
    ApiKeyUpdate,
    AttributeCategory,
    AuditAction,
    AuditLogPage,
    BrandList,
    CampaignLeadAccepted,
    CampaignLeadRequest,
    CampaignLeadRequestConsent,
    ConsentStatus,
    Contact,
    ContactPage,
    ContactUpdate,
    Conversation,
    ConversationCreate,
    ConversationCreateParticipants,
    ConversationPage,
    ConversationStatus,
    ConversationUpdate,
    CustomAttribute,
    CustomAttributeCreate,
    CustomAttributeList,
    CustomAttributeUpdate,
    CustomAttributeValue,
    DeliveryDetails,
    DeliveryPage,
    Erasure,
    ErasureRequest,
    EventDetails,
    EventPage,
    ExternalByPhone,
    FileDownload,
    FileType,
    FileUploadRequestItem,
    GetCaptureHealthResponse200,
    GetLeadScriptScript,
    GetUsageStep,
    InternalByEmail,
    InternalUser,
    LeadCapture,
    LeadCaptureUpdate,
    LeadPage,
    LeadRecord,
    LeadRecordConsentStatus,
    LeadRetries,
    LeadRetriesDone,
    LeadRetriesStatesItem,
    LeadRetry,
    LeadState,
    LineList,
    ListEventsInclude,
    Merge,
    MergeRequest,
    Message,
    MessageCreated,
    MessageDirection,
    MessagePage,
    MessageType,
    NoContactError,
    NoContactErrorCode,
    Onboarding,
    OnboardingUpdate,
    OptOut,
    OptOutCreate,
    OptOutKeywords,
    OptOutKeywordsUpdate,
    OptOutPage,
    OwnSession,
    OwnSessionKind,
    PortalLink,
    PortalLinkCreate,
    Role,
    Scope,
    SessionPage,
    SessionStart,
    StartedSession,
    Team,
    TeamCreate,
    TeamPage,
    TeamUpdate,
    Template,
    TemplatePage,
    TemplatePreview,
    TemplatePreviewRequest,
    TextMessageCreate,
    Usage,
    UserCreate,
    UserPage,
    UserStatus,
    UserUpdate,
    WebhookEndpointChanged,
    WebhookEndpointCreate,
    WebhookEndpointCreated,
    WebhookEndpointDetails,
    WebhookEndpointList,
    WebhookEndpointState,
    WebhookEndpointUpdate,
    WebhookEventType,
    WebhookJob,
    WebhookJobList,
    WebhookJobRequest,
    WebhookJobRequestWhat,
    WebhookSecret,
    WebhookSecretActivated,
    WebhookSecretRotate,
    WebhookTestSent,
)
from messaging_client.types import Response

T = TypeVar("T")


def parsed(operation: str, response: Response[Any], status: int, kind: type[T]) -> T:
    """The body of a response that has this status and this type."""
    assert response.status_code == status, (operation, response.status_code, response.content)
    assert isinstance(response.parsed, kind), (operation, response.parsed)
    print(operation, flush=True)
    return response.parsed


def integrations(stack: dict[str, Any], key: str) -> AuthenticatedClient:
    """A client of the Integrations API with this key."""
    return AuthenticatedClient(stack["baseUrl"], key, prefix="", auth_header_name="x-api-key")


def deliver_again(client: AuthenticatedClient, workspace: uuid.UUID, endpoint: uuid.UUID) -> None:
    sent = parsed("testWebhookEndpoint", test_webhook_endpoint.sync_detailed(workspace, endpoint, client=client), 201, WebhookTestSent)
    log = list_deliveries.sync_detailed(workspace, client=client, endpoint_id=endpoint)
    assert [one.id for one in parsed("listDeliveries", log, 200, DeliveryPage).deliveries] == [sent.delivery_id]
    one = get_delivery.sync_detailed(workspace, sent.delivery_id, client=client)
    assert parsed("getDelivery", one, 200, DeliveryDetails).headers[0].value == "application/json"
    again = parsed("retryDelivery", retry_delivery.sync_detailed(workspace, sent.delivery_id, client=client), 201, WebhookJob)
    assert again.delivery_id == sent.delivery_id
    # The service may do a job before it is cancelled.
    for minutes in range(60):
        since = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=minutes + 1)
        replay = WebhookJobRequest(WebhookJobRequestWhat.REPLAY, since)
        job = parsed("requestWebhookJob", request_webhook_job.sync_detailed(workspace, endpoint, client=client, body=replay), 201, WebhookJob)
        read_job = get_webhook_job.sync_detailed(workspace, endpoint, job.id, client=client)
        assert parsed("getWebhookJob", read_job, 200, WebhookJob).id == job.id
        ended = cancel_webhook_job.sync_detailed(workspace, endpoint, job.id, client=client)
        if ended.status_code != 409:
            break
    assert parsed("cancelWebhookJob", ended, 200, WebhookJob).id == job.id
    jobs = parsed("listWebhookJobs", list_webhook_jobs.sync_detailed(workspace, endpoint, client=client), 200, WebhookJobList).jobs
    assert any(one.id == again.id for one in jobs)
    with_bodies = list_events.sync_detailed(workspace, client=client, event_type=WebhookEventType.WEBHOOK_TEST, include=ListEventsInclude.BODY)
    assert any(one.id == sent.event_id and one.body for one in parsed("listEvents", with_bodies, 200, EventPage).events)
    event = parsed("getEvent", get_event.sync_detailed(workspace, sent.event_id, client=client), 200, EventDetails)
    assert event.deliveries[0].id == sent.delivery_id


def retry_again(client: AuthenticatedClient, workspace: uuid.UUID, request_id: uuid.UUID) -> None:
    for _ in range(600):
        found = parsed("getLead", get_lead.sync_detailed(workspace, request_id, client=client), 200, LeadRecord)
        if found.state == LeadState.FAILED:
            break
        time.sleep(0.1)
    assert found.error == "131026" and found.consent.status == LeadRecordConsentStatus.GRANTED
    failed = list_leads.sync_detailed(workspace, client=client, state=LeadState.FAILED)
    assert any(one.id == request_id for one in parsed("listLeads", failed, 200, LeadPage).leads)
    retried = retry_lead.sync_detailed(workspace, request_id, client=client, body=LeadRetry(may_send_twice=False))
    assert parsed("retryLead", retried, 200, LeadRecord).state == LeadState.QUEUED
    wanted = LeadRetries([LeadRetriesStatesItem.FAILED], errors=["NO_LINE"])
    done = retry_leads.sync_detailed(workspace, client=client, body=wanted)
    assert parsed("retryLeads", done, 200, LeadRetriesDone).retried == []


def main() -> None:
    stack = json.loads(os.environ["CLIENT_STACK"])
    workspace = uuid.UUID(stack["workspaceId"])
    client = integrations(stack, stack["apiKey"])
    visitor = Client(stack["captureUrl"])

    customer = ExternalByPhone(stack["cellphone"], "PHONE")
    agent = InternalByEmail(stack["email"], "EMAIL")
    opened = ConversationCreate(ConversationCreateParticipants([customer], [agent]), name="Order 4711", onboarding_templates=[])
    key = str(uuid.uuid4())
    created = create_conversation.sync_detailed(workspace, client=client, body=opened, idempotency_key=key)
    conversation = parsed("createConversation", created, 201, Conversation)
    assert conversation.participants.externals[0].identifier == stack["cellphone"]

    page = list_conversations.sync_detailed(workspace, client=client, page_size=1, status=ConversationStatus.ACTIVE)
    assert len(parsed("listConversations", page, 200, ConversationPage).conversations) == 1

    read = get_conversation.sync_detailed(workspace, conversation.id, client=client)
    assert parsed("getConversation", read, 200, Conversation) == conversation

    renamed = ConversationUpdate(name="Order 4712")
    etag = read.headers["ETag"]
    changed = update_conversation.sync_detailed(workspace, conversation.id, client=client, body=renamed, if_match=etag)
    assert parsed("updateConversation", changed, 200, Conversation).name == "Order 4712"

    contacts = list_contacts.sync_detailed(workspace, client=client, page_size=30)
    [contact, *_, second] = parsed("listContacts", contacts, 200, ContactPage).contacts

    found = get_contact.sync_detailed(workspace, contact.id, client=client)
    assert parsed("getContact", found, 200, Contact) == contact

    update = ContactUpdate(first_name="Augusta")
    kept = update_contact.sync_detailed(workspace, contact.id, client=client, body=update, if_match=found.headers["ETag"])
    assert parsed("updateContact", kept, 200, Contact).first_name == "Augusta"

    asked = erase_contact.sync_detailed(workspace, contact.id, client=client, body=ErasureRequest(dry_run=True))
    preview = parsed("eraseContact", asked, 202, Erasure)
    shown = get_erasure.sync_detailed(workspace, preview.erasure_id, client=client)
    assert parsed("getErasure", shown, 200, Erasure).contact_ids == [contact.id]

    merged = merge_contacts.sync_detailed(workspace, contact.id, client=client, body=MergeRequest(second.id))
    assert parsed("mergeContacts", merged, 202, Merge).merged_contact_id == second.id

    missing = get_contact.sync(workspace, uuid.uuid4(), client=client)
    assert isinstance(missing, NoContactError), missing
    assert (missing.status, missing.code) == (404, NoContactErrorCode.SERVICE_CONTACT_0404)

    attributes = list_custom_attributes.sync_detailed(workspace, client=client)
    assert parsed("listCustomAttributes", attributes, 200, CustomAttributeList).custom_attributes

    attribute_wish = CustomAttributeCreate(str(uuid.uuid4()), AttributeCategory.CLOSED, values=["Free"])
    new_attribute = create_custom_attribute.sync_detailed(workspace, client=client, body=attribute_wish)
    plan = parsed("createCustomAttribute", new_attribute, 201, CustomAttribute)
    read_plan = get_custom_attribute.sync_detailed(workspace, plan.id, client=client)
    assert parsed("getCustomAttribute", read_plan, 200, CustomAttribute) == plan
    paid = CustomAttributeValue("Paid")
    two_values = add_custom_attribute_value.sync_detailed(workspace, plan.id, client=client, body=paid, if_match=read_plan.headers["ETag"])
    [_, value] = parsed("addCustomAttributeValue", two_values, 200, CustomAttribute).closed_attributes_values
    renamed_value = rename_custom_attribute_value.sync_detailed(workspace, plan.id, value.id, client=client, body=CustomAttributeValue("Team"))
    assert parsed("renameCustomAttributeValue", renamed_value, 200, CustomAttribute).closed_attributes_values[1].value == "Team"
    archived = update_custom_attribute.sync_detailed(workspace, plan.id, client=client, body=CustomAttributeUpdate(archived=True))
    assert parsed("updateCustomAttribute", archived, 200, CustomAttribute).deleted_at

    new_opt_out = create_opt_out.sync_detailed(workspace, client=client, body=OptOutCreate("+34600111555"))
    opt_out = parsed("createOptOut", new_opt_out, 201, OptOut)
    listed_out = list_opt_outs.sync_detailed(workspace, client=client, page_size=100)
    assert opt_out.id in [found.id for found in parsed("listOptOuts", listed_out, 200, OptOutPage).opt_outs]
    parsed("deleteOptOut", delete_opt_out.sync_detailed(workspace, opt_out.id, client=client), 204, object)
    shown_words = get_opt_out_keywords.sync_detailed(workspace, client=client)
    words = parsed("getOptOutKeywords", shown_words, 200, OptOutKeywords)
    own_words = OptOutKeywordsUpdate(words.stop, words.stop_marketing, words.start)
    set_words = set_opt_out_keywords.sync_detailed(workspace, client=client, body=own_words, if_match=shown_words.headers["ETag"])
    assert not parsed("setOptOutKeywords", set_words, 200, OptOutKeywords).is_default
    parsed("resetOptOutKeywords", reset_opt_out_keywords.sync_detailed(workspace, client=client), 204, object)

    shown_capture = get_lead_capture.sync_detailed(workspace, client=client)
    capturing = parsed("getLeadCapture", shown_capture, 200, LeadCapture)
    stricter = LeadCaptureUpdate(threshold=capturing.threshold)
    kept_capture = update_lead_capture.sync_detailed(workspace, client=client, body=stricter, if_match=shown_capture.headers["ETag"])
    assert parsed("updateLeadCapture", kept_capture, 200, LeadCapture).capture_key == capturing.capture_key
    rekeyed = rotate_lead_capture_key.sync_detailed(workspace, client=client)
    capture_key = parsed("rotateLeadCaptureKey", rekeyed, 200, LeadCapture).capture_key
    assert capture_key and capture_key != capturing.capture_key

    present = get_onboarding.sync_detailed(workspace, client=client)
    onboarding = parsed("getOnboarding", present, 200, Onboarding)
    same = OnboardingUpdate(onboarding.override, onboarding.sequence)
    put = set_onboarding.sync_detailed(workspace, client=client, body=same, if_match=present.headers["ETag"])
    assert parsed("setOnboarding", put, 200, Onboarding) == onboarding

    brands = parsed("listBrands", list_brands.sync_detailed(workspace, client=client), 200, BrandList).brands
    lines = parsed("listLines", list_lines.sync_detailed(workspace, client=client), 200, LineList).lines
    assert {line.brand_id for line in lines} <= {brand.id for brand in brands}, lines
    assert [line.account.sync_error for line in lines] == [None] * len(lines), lines
    usage = parsed("getUsage", get_usage.sync_detailed(workspace, client=client, step=GetUsageStep.DAY), 200, Usage)
    assert len(usage.steps) == 30 and all(count >= 0 for step in usage.steps for count in step.counts.additional_properties.values()), usage

    user = get_user.sync_detailed(workspace, uuid.UUID(stack["userId"]), client=client)
    assert parsed("getUser", user, 200, InternalUser).email == stack["email"]

    active = list_users.sync_detailed(workspace, client=client, status=UserStatus.ACTIVE, search=stack["email"])
    assert [found.id for found in parsed("listUsers", active, 200, UserPage).users] == [uuid.UUID(stack["userId"])]
    [team, *_] = parsed("listTeams", list_teams.sync_detailed(workspace, client=client), 200, TeamPage).teams
    one_team = get_team.sync_detailed(workspace, team.id, client=client)
    assert parsed("getTeam", one_team, 200, Team).members == team.members

    user_wish = UserCreate(f"{uuid.uuid4()}@example.com", first_name="Jo")
    new_user = create_user.sync_detailed(workspace, client=client, body=user_wish, idempotency_key=str(uuid.uuid4()))
    jo = parsed("createUser", new_user, 201, InternalUser)
    off = UserUpdate(status=UserStatus.DISABLED)
    disabled_user = update_user.sync_detailed(workspace, jo.id, client=client, body=off, if_match=new_user.headers["ETag"])
    assert parsed("updateUser", disabled_user, 200, InternalUser).status == UserStatus.DISABLED
    new_team = create_team.sync_detailed(workspace, client=client, body=TeamCreate(str(uuid.uuid4())))
    desk = parsed("createTeam", new_team, 201, Team)
    renamed_team = update_team.sync_detailed(workspace, desk.id, client=client, body=TeamUpdate(name=f"{desk.name} 2"))
    assert parsed("updateTeam", renamed_team, 200, Team).name == f"{desk.name} 2"
    parsed("deleteTeam", delete_team.sync_detailed(workspace, desk.id, client=client), 204, object)

    digest = base64.b64encode(hashlib.sha256(b"hello").digest()).decode()
    file = FileUploadRequestItem("hello.txt", FileType.DOCUMENT, "text/plain", digest, content_length=5)
    uploads = create_uploads.sync_detailed(workspace, client=client, body=[file])
    [upload] = parsed("createUploads", uploads, 201, list)
    assert upload.presign_url.method == "PUT"
    headers = upload.presign_url.headers.to_dict()
    urllib.request.urlopen(urllib.request.Request(upload.presign_url.url, b"hello", headers, method="PUT")).close()

    download = parsed("getFile", get_file.sync_detailed(workspace, upload.media_id, client=client), 200, FileDownload)
    assert (download.file_name, download.size_bytes) == ("hello.txt", 5)
    with urllib.request.urlopen(download.url) as saved:
        assert (saved.read(), saved.headers["Content-Type"]) == (b"hello", "text/plain")
        assert "hello.txt" in saved.headers["Content-Disposition"]

    text = TextMessageCreate(conversation.id, "Your order is on its way.")
    sent = create_message.sync_detailed(workspace, client=client, body=text, idempotency_key=str(uuid.uuid4()))
    made = parsed("createMessage", sent, 201, MessageCreated)

    alone = get_message.sync_detailed(workspace, made.message_id, client=client, conversation_id=conversation.id)
    message = parsed("getMessage", alone, 200, Message)
    assert (message.direction, message.type_, message.content) == (MessageDirection.OUTBOUND, MessageType.TEXT, None)
    listed = list_messages.sync_detailed(workspace, conversation.id, client=client, direction=MessageDirection.OUTBOUND)
    assert all(found.id == made.message_id for found in parsed("listMessages", listed, 200, MessagePage).messages)

    offered = list_templates.sync_detailed(workspace, client=client, page_size=5)
    [template, *_] = parsed("listTemplates", offered, 200, TemplatePage).templates
    one = get_template.sync_detailed(workspace, template.id, client=client)
    assert parsed("getTemplate", one, 200, Template) == template
    wish = TemplatePreviewRequest(contact_id=contact.id)
    filled = preview_template.sync_detailed(workspace, template.id, client=client, body=wish)
    assert parsed("previewTemplate", filled, 200, TemplatePreview).footer == template.footer

    wanted = ApiKeyCreate("driven", [Scope.USERSREAD], rate=1)
    once = str(uuid.uuid4())
    made_key = create_api_key.sync_detailed(workspace, client=client, body=wanted, idempotency_key=once)
    new = parsed("createApiKey", made_key, 201, ApiKeyCreated)
    assert new.api_key and new.api_key.startswith("msk_")
    again = create_api_key.sync_detailed(workspace, client=client, body=wanted, idempotency_key=once).parsed
    assert isinstance(again, ApiKeyCreated) and (again.id, again.api_key) == (new.id, None)
    keys = list_api_keys.sync_detailed(workspace, client=client, page_size=100)
    assert any(key.id == new.id for key in parsed("listApiKeys", keys, 200, ApiKeyPage).api_keys)
    driven = get_api_key.sync_detailed(workspace, new.id, client=client)
    assert parsed("getApiKey", driven, 200, ApiKey).scopes == ["users:read"]
    etag = driven.headers["ETag"]
    other = update_api_key.sync_detailed(workspace, new.id, client=client, body=ApiKeyUpdate(name="other"), if_match=etag)
    assert parsed("updateApiKey", other, 200, ApiKey).name == "other"
    revoked = revoke_api_key.sync_detailed(workspace, new.id, client=client, if_match=other.headers["ETag"])
    parsed("revokeApiKey", revoked, 204, object)
    log = list_audit_log.sync_detailed(workspace, client=client, action=AuditAction.API_KEY_REVOKE, subject_id=str(new.id))
    [entry] = parsed("listAuditLog", log, 200, AuditLogPage).entries
    assert (entry.action, entry.subject.id) == ("api_key.revoke", str(new.id))

    own = get_session.sync_detailed(workspace, client=client)
    assert parsed("getSession", own, 200, OwnSession).kind == OwnSessionKind.KEY
    link = create_portal_link.sync_detailed(workspace, client=client, body=PortalLinkCreate(role=Role.VIEWER, subject="ana"))
    address = parsed("createPortalLink", link, 201, PortalLink).url
    guest = integrations(stack, next(part for part in address.split("/") if part.startswith("msk_")))
    started = start_session.sync_detailed(workspace, client=guest, body=SessionStart())
    begun = parsed("startSession", started, 201, StartedSession)
    assert (begun.session.role, begun.session.subject) == (Role.VIEWER, "ana")
    out = end_session.sync_detailed(workspace, client=integrations(stack, begun.api_key))
    parsed("endSession", out, 204, object)
    sessions = list_sessions.sync_detailed(workspace, client=client, page_size=100)
    [ended] = [seen for seen in parsed("listSessions", sessions, 200, SessionPage).sessions if seen.id == begun.session.id]
    assert ended.revoked_at is not None
    gone = revoke_session.sync_detailed(workspace, begun.session.id, client=client)
    parsed("revokeSession", gone, 204, object)

    wanted_endpoint = WebhookEndpointCreate("https://hooks.example.com/driven", "k", description="driven")
    once = str(uuid.uuid4())
    made_endpoint = create_webhook_endpoint.sync_detailed(workspace, client=client, body=wanted_endpoint, idempotency_key=once)
    endpoint = parsed("createWebhookEndpoint", made_endpoint, 201, WebhookEndpointCreated)
    assert endpoint.signing_secret and endpoint.signing_secret.startswith("whsec_")
    all_endpoints = list_webhook_endpoints.sync_detailed(workspace, client=client)
    endpoints = parsed("listWebhookEndpoints", all_endpoints, 200, WebhookEndpointList).webhook_endpoints
    assert any(one.id == endpoint.id for one in endpoints)
    read_endpoint = get_webhook_endpoint.sync_detailed(workspace, endpoint.id, client=client)
    assert parsed("getWebhookEndpoint", read_endpoint, 200, WebhookEndpointDetails).health.width > 0
    etag, moved = read_endpoint.headers["ETag"], WebhookEndpointUpdate("https://hooks.example.com/moved")
    moved_to = update_webhook_endpoint.sync_detailed(workspace, endpoint.id, client=client, body=moved, if_match=etag)
    assert parsed("updateWebhookEndpoint", moved_to, 200, WebhookEndpointChanged).job is not None
    disabled = disable_webhook_endpoint.sync_detailed(workspace, endpoint.id, client=client)
    assert parsed("disableWebhookEndpoint", disabled, 200, WebhookEndpointChanged).state == WebhookEndpointState.DISABLED
    enabled = enable_webhook_endpoint.sync_detailed(workspace, endpoint.id, client=client)
    assert parsed("enableWebhookEndpoint", enabled, 200, WebhookEndpointChanged).state == WebhookEndpointState.ENABLED
    rotate = WebhookSecretRotate(replace=False)
    rotated = rotate_webhook_secret.sync_detailed(workspace, endpoint.id, client=client, body=rotate)
    assert parsed("rotateWebhookSecret", rotated, 200, WebhookSecret).signatures == 2
    activated = activate_webhook_secret.sync_detailed(workspace, endpoint.id, client=client)
    assert parsed("activateWebhookSecret", activated, 200, WebhookSecretActivated).activated
    deliver_again(client, workspace, endpoint.id)
    deleted = delete_webhook_endpoint.sync_detailed(workspace, endpoint.id, client=client)
    parsed("deleteWebhookEndpoint", deleted, 204, object)

    lead = CampaignLeadRequest(
        workspace_id=workspace,
        capture_key=capture_key,
        cellphone=stack["cellphone"],
        landing_uri=f"{stack['origin']}/spring",
        consent=CampaignLeadRequestConsent(ConsentStatus.GRANTED),
        recaptcha_token=f"pass-{uuid.uuid4()}",
    )
    queued = create_campaign_lead.sync_detailed(client=visitor, body=lead, workspace_id=workspace)
    parsed("createCampaignLead", queued, 202, CampaignLeadAccepted)

    lead.cellphone, lead.recaptcha_token = stack["refusedCellphone"], f"pass-{uuid.uuid4()}"
    refused = create_campaign_lead.sync_detailed(client=visitor, body=lead, workspace_id=workspace)
    retry_again(client, workspace, parsed("createCampaignLead", refused, 202, CampaignLeadAccepted).request_id)

    allowed = preflight_campaign_lead.sync_detailed(client=visitor, workspace_id=str(workspace), origin=stack["origin"])
    parsed("preflightCampaignLead", allowed, 204, object)
    assert allowed.headers["Access-Control-Allow-Origin"] == stack["origin"]

    script = get_lead_script.sync_detailed(GetLeadScriptScript.LEAD_CAPTURE_1_JS, client=visitor)
    assert "export async function sendLead" in parsed("getLeadScript", script, 200, str)

    health = get_capture_health.sync_detailed(client=visitor)
    parsed("getCaptureHealth", health, 200, GetCaptureHealthResponse200)


if __name__ == "__main__":
    main()
