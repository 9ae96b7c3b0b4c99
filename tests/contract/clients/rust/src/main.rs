//! Calls every operation with the client of progenitor. Prints the name of each operation that succeeded.
//!
//! The environment names a running stack (see `../../test_driving.py`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt;
use reqwest::header::{HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

progenitor::generate_api!(spec = "../../../../openapi-3.0.yaml", interface = Builder);

use types::{ConversationStatus, MessageDirection, MessageType};

type Failed = Box<dyn std::error::Error>;

/// A typed body from JSON. It fails if the generated type does not fit.
fn body<T: DeserializeOwned>(json: Value) -> Result<T, Failed> {
    Ok(serde_json::from_value(json)?)
}

/// Prints the name of an operation whose response had the expected status and type.
fn parsed<T>(operation: &str, response: ResponseValue<T>, status: u16) -> ResponseValue<T> {
    assert_eq!(response.status().as_u16(), status, "{operation}");
    println!("{operation}");
    response
}

/// A running stack, and what the calls need of it.
struct Stack {
    integrations: Client,
    capture: Client,
    plain: reqwest::Client,
    workspace: Uuid,
    values: Value,
}

impl Stack {
    fn read() -> Result<Self, Failed> {
        let values: Value = serde_json::from_str(&std::env::var("CLIENT_STACK")?)?;
        let text = |field: &str| values[field].as_str().unwrap_or_default();
        Ok(Self {
            integrations: integrations(text("baseUrl"), text("apiKey"))?,
            capture: Client::new(text("captureUrl")),
            plain: reqwest::Client::new(),
            workspace: text("workspaceId").parse()?,
            values: values.clone(),
        })
    }

    /// The Integrations API for a caller with this key.
    fn with_key(&self, key: &str) -> Result<Client, Failed> {
        integrations(self.text("baseUrl"), key)
    }

    fn text(&self, field: &str) -> &str {
        self.values[field].as_str().unwrap_or_default()
    }
}

fn integrations(base_url: &str, key: &str) -> Result<Client, Failed> {
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_str(key)?);
    Ok(Client::new_with_client(base_url, reqwest::Client::builder().default_headers(headers).build()?))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let stack = Stack::read()?;
    let conversation = conversations(&stack).await?;
    contacts(&stack).await?;
    files(&stack).await?;
    messages(&stack, conversation).await?;
    templates(&stack).await?;
    access(&stack).await?;
    portal_access(&stack).await?;
    webhook_endpoints(&stack).await?;
    lead_capture(&stack).await
}

async fn conversations(stack: &Stack) -> Result<Uuid, Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let opening: types::ConversationCreate = body(json!({
        "participants": {
            "externals": [{"identifier": stack.text("cellphone"), "identifierType": "PHONE"}],
            "internals": [{"identifier": stack.text("email"), "identifierType": "EMAIL"}],
        },
        "name": "Order 4711",
        "onboardingTemplates": [],
    }))?;
    let request = integrations.create_conversation().workspace_id(*workspace).body(opening);
    let created = request.idempotency_key(Uuid::new_v4().to_string()).send().await?;
    let conversation = parsed("createConversation", created, 201).into_inner();

    let request = integrations.list_conversations().workspace_id(*workspace).status(ConversationStatus::Active);
    let page = parsed("listConversations", request.page_size(1).send().await?, 200);
    assert_eq!(page.conversations.len(), 1);

    let request = integrations.get_conversation().workspace_id(*workspace);
    let read = parsed("getConversation", request.conversation_id(conversation.id).send().await?, 200);
    assert_eq!(read.name, conversation.name);

    let renaming: types::ConversationUpdate = body(json!({"name": "Order 4712"}))?;
    let request = integrations.update_conversation().workspace_id(*workspace).conversation_id(conversation.id);
    let etag = read.headers()["etag"].to_str()?.to_owned();
    let changed = parsed("updateConversation", request.if_match(etag).body(renaming).send().await?, 200);
    assert_eq!(changed.name.as_ref().map(|name| name.as_str()), Some("Order 4712"));
    Ok(conversation.id)
}

async fn contacts(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let request = integrations.list_contacts().workspace_id(*workspace).page_size(30);
    let page = parsed("listContacts", request.send().await?, 200);
    let id = page.contacts.first().ok_or("the demo has no contacts")?.id;
    let second = page.contacts.last().ok_or("the demo has no contacts")?.id;

    let request = integrations.get_contact().workspace_id(*workspace).contact_id(id);
    let found = parsed("getContact", request.send().await?, 200);

    let update: types::ContactUpdate = body(json!({"firstName": "Augusta"}))?;
    let request = integrations.update_contact().workspace_id(*workspace).contact_id(id).body(update);
    let etag = found.headers()["etag"].to_str()?.to_owned();
    let changed = parsed("updateContact", request.if_match(etag).send().await?, 200);
    assert_eq!(changed.first_name.as_deref(), Some("Augusta"));

    let preview: types::ErasureRequest = body(json!({"dryRun": true}))?;
    let request = integrations.erase_contact().workspace_id(*workspace).contact_id(id).body(preview);
    let asked = parsed("eraseContact", request.send().await?, 202);
    let request = integrations.get_erasure().workspace_id(*workspace).erasure_id(asked.erasure_id);
    assert_eq!(parsed("getErasure", request.send().await?, 200).contact_ids, [id]);

    let merge: types::MergeRequest = body(json!({"contactId": second}))?;
    let request = integrations.merge_contacts().workspace_id(*workspace).contact_id(id).body(merge);
    assert_eq!(parsed("mergeContacts", request.send().await?, 202).merged_contact_id, second);

    let missing = integrations.get_contact().workspace_id(*workspace).contact_id(Uuid::new_v4()).send().await;
    match missing {
        Err(Error::ErrorResponse(error)) => assert_eq!((error.status, error.code.as_str()), (404, "SERVICE_CONTACT_0404")),
        other => panic!("{other:?}"),
    }

    let request = integrations.list_custom_attributes().workspace_id(*workspace);
    let attributes = parsed("listCustomAttributes", request.send().await?, 200);
    assert!(!attributes.custom_attributes.is_empty());

    let shown = parsed("getOnboarding", integrations.get_onboarding().workspace_id(*workspace).send().await?, 200);
    let same: types::OnboardingUpdate = body(json!({"override": shown.override_, "sequence": shown.sequence}))?;
    let request = integrations.set_onboarding().workspace_id(*workspace).body(same);
    assert_eq!(parsed("setOnboarding", request.send().await?, 200).sequence, shown.sequence);
    let brands = parsed("listBrands", integrations.list_brands().workspace_id(*workspace).send().await?, 200);
    let lines = parsed("listLines", integrations.list_lines().workspace_id(*workspace).send().await?, 200);
    let has_brand = |id: &str| brands.brands.iter().any(|brand| brand.id == id);
    assert!(lines.lines.iter().all(|line| has_brand(&line.brand_id)));
    let request = integrations.get_usage().workspace_id(*workspace).step(types::GetUsageStep::Day);
    assert_eq!(parsed("getUsage", request.send().await?, 200).steps.len(), 30);

    let user: Uuid = stack.text("userId").parse()?;
    let request = integrations.get_user().workspace_id(*workspace).user_id(user);
    assert_eq!(parsed("getUser", request.send().await?, 200).email, stack.text("email"));

    let request = integrations.list_users().workspace_id(*workspace).search(stack.text("email"));
    assert_eq!(parsed("listUsers", request.send().await?, 200).users[0].id, user);
    let teams = parsed("listTeams", integrations.list_teams().workspace_id(*workspace).send().await?, 200);
    let team = teams.teams.iter().find(|team| !team.members.is_empty()).ok_or("a team with members is expected")?;
    let request = integrations.get_team().workspace_id(*workspace).team_id(team.id);
    assert!(!parsed("getTeam", request.send().await?, 200).members.is_empty());
    changed_attributes(stack).await?;
    opt_outs(stack).await?;
    changed_users_and_teams(stack).await
}

async fn opt_outs(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let wanted: types::OptOutCreate = body(json!({"cellphone": "+34600111558"}))?;
    let made = parsed("createOptOut", integrations.create_opt_out().workspace_id(*workspace).body(wanted).send().await?, 201);
    let listed = parsed("listOptOuts", integrations.list_opt_outs().workspace_id(*workspace).send().await?, 200);
    assert!(!listed.opt_outs.is_empty());
    let request = integrations.delete_opt_out().workspace_id(*workspace).opt_out_id(made.id);
    parsed("deleteOptOut", request.send().await?, 204);
    let words = parsed("getOptOutKeywords", integrations.get_opt_out_keywords().workspace_id(*workspace).send().await?, 200);
    let own: types::OptOutKeywordsUpdate =
        body(json!({"stop": words.stop, "stopMarketing": words.stop_marketing, "start": words.start}))?;
    let request = integrations.set_opt_out_keywords().workspace_id(*workspace).body(own);
    assert!(!parsed("setOptOutKeywords", request.send().await?, 200).is_default);
    parsed("resetOptOutKeywords", integrations.reset_opt_out_keywords().workspace_id(*workspace).send().await?, 204);
    Ok(())
}

async fn changed_attributes(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let wish = json!({"keyName": Uuid::new_v4().to_string(), "category": "CLOSED", "values": ["Free"]});
    let wanted: types::CustomAttributeCreate = body(wish)?;
    let request = integrations.create_custom_attribute().workspace_id(*workspace).body(wanted);
    let made = parsed("createCustomAttribute", request.send().await?, 201);
    let request = integrations.get_custom_attribute().workspace_id(*workspace).attribute_id(made.id);
    assert_eq!(parsed("getCustomAttribute", request.send().await?, 200).key_name, made.key_name);
    let value: types::CustomAttributeValue = body(json!({"value": "Paid"}))?;
    let request = integrations.add_custom_attribute_value().workspace_id(*workspace).attribute_id(made.id).body(value);
    let two = parsed("addCustomAttributeValue", request.send().await?, 200);
    let paid = two.closed_attributes_values.last().ok_or("two values are expected")?.id;
    let value: types::CustomAttributeValue = body(json!({"value": "Team"}))?;
    let request = integrations.rename_custom_attribute_value().workspace_id(*workspace).attribute_id(made.id).value_id(paid);
    parsed("renameCustomAttributeValue", request.body(value).send().await?, 200);
    let update: types::CustomAttributeUpdate = body(json!({"archived": true}))?;
    let request = integrations.update_custom_attribute().workspace_id(*workspace).attribute_id(made.id).body(update);
    assert!(parsed("updateCustomAttribute", request.send().await?, 200).deleted_at.is_some());
    Ok(())
}

async fn changed_users_and_teams(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let wanted: types::UserCreate = body(json!({"email": format!("{}@example.com", Uuid::new_v4()), "firstName": "Jo"}))?;
    let request = integrations.create_user().workspace_id(*workspace).body(wanted);
    let made = parsed("createUser", request.send().await?, 201);
    let update: types::UserUpdate = body(json!({"status": "disabled"}))?;
    let request = integrations.update_user().workspace_id(*workspace).user_id(made.id).body(update);
    assert_eq!(parsed("updateUser", request.send().await?, 200).status, types::UserStatus::Disabled);
    let wanted: types::TeamCreate = body(json!({"name": Uuid::new_v4().to_string()}))?;
    let made = parsed("createTeam", integrations.create_team().workspace_id(*workspace).body(wanted).send().await?, 201);
    let update: types::TeamUpdate = body(json!({"name": format!("{} 2", made.name)}))?;
    let request = integrations.update_team().workspace_id(*workspace).team_id(made.id).body(update);
    assert_ne!(parsed("updateTeam", request.send().await?, 200).name, made.name);
    let request = integrations.delete_team().workspace_id(*workspace).team_id(made.id);
    parsed("deleteTeam", request.send().await?, 204);
    Ok(())
}

async fn files(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let file: types::FileUploadRequestItem = body(json!({
        "name": "hello.txt",
        "fileType": "DOCUMENT",
        "contentType": "text/plain",
        "checksumBase64": STANDARD.encode(Sha256::digest(b"hello")),
        "contentLength": 5,
    }))?;
    let request = integrations.create_uploads().workspace_id(*workspace).body(vec![file]);
    let uploads = parsed("createUploads", request.send().await?, 201).into_inner();
    let upload = uploads.first().ok_or("no upload")?;
    let signed = &upload.presign_url.headers;
    let put = stack
        .plain
        .put(&upload.presign_url.url)
        .header("content-type", &signed.content_type)
        .header("x-amz-checksum-sha256", &signed.x_amz_checksum_sha256);
    assert!(put.body("hello").send().await?.status().is_success());

    let request = integrations.get_file().workspace_id(*workspace).media_id(upload.media_id);
    let download = parsed("getFile", request.send().await?, 200);
    assert_eq!((download.file_name.as_str(), download.size_bytes), ("hello.txt", 5));
    assert_eq!(stack.plain.get(&download.url).send().await?.text().await?, "hello");
    Ok(())
}

async fn messages(stack: &Stack, conversation: Uuid) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let text: types::MessageCreate =
        body(json!({"conversationId": conversation, "messageBody": "Your order is on its way."}))?;
    let request = integrations.create_message().workspace_id(*workspace).body(text);
    let made = parsed("createMessage", request.idempotency_key(Uuid::new_v4().to_string()).send().await?, 201);

    let request = integrations.get_message().workspace_id(*workspace).message_id(made.message_id);
    let shown = parsed("getMessage", request.conversation_id(conversation).send().await?, 200);
    assert_eq!((shown.direction, shown.type_), (MessageDirection::Outbound, MessageType::Text));

    let request = integrations.list_messages().workspace_id(*workspace).conversation_id(conversation);
    let page = parsed("listMessages", request.direction(MessageDirection::Outbound).send().await?, 200);
    assert!(page.messages.iter().all(|message| message.id == made.message_id));
    Ok(())
}

async fn templates(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let request = integrations.list_templates().workspace_id(*workspace);
    let page = parsed("listTemplates", request.send().await?, 200);
    let listed = page.templates.first().ok_or("a template is expected")?;

    let request = integrations.get_template().workspace_id(*workspace).template_id(listed.id);
    assert_eq!(parsed("getTemplate", request.send().await?, 200).name, listed.name);

    let wish: types::TemplatePreviewRequest = body(json!({"parameters": {}}))?;
    let request = integrations.preview_template().workspace_id(*workspace).template_id(listed.id);
    let preview = parsed("previewTemplate", request.body(wish).send().await?, 200);
    assert_eq!(preview.footer, listed.footer);
    Ok(())
}

async fn access(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let wanted: types::ApiKeyCreate = body(json!({"name": "driven", "scopes": ["users:read"], "rate": 1}))?;
    let request = integrations.create_api_key().workspace_id(*workspace).body(wanted);
    let made = parsed("createApiKey", request.idempotency_key(Uuid::new_v4().to_string()).send().await?, 201);
    assert!(made.api_key.as_ref().is_some_and(|key| key.starts_with("msk_")));
    let id = made.id;

    let request = integrations.list_api_keys().workspace_id(*workspace).page_size(100);
    let page = parsed("listApiKeys", request.send().await?, 200);
    assert!(page.api_keys.iter().any(|key| key.id == id));

    let request = integrations.get_api_key().workspace_id(*workspace).key_id(id);
    let key = parsed("getApiKey", request.send().await?, 200);
    assert_eq!(key.scopes, ["users:read"]);

    let update: types::ApiKeyUpdate = body(json!({"name": "other"}))?;
    let request = integrations.update_api_key().workspace_id(*workspace).key_id(id).body(update);
    let etag = key.headers()["etag"].to_str()?.to_owned();
    assert_eq!(parsed("updateApiKey", request.if_match(etag).send().await?, 200).name, "other");

    let request = integrations.revoke_api_key().workspace_id(*workspace).key_id(id);
    parsed("revokeApiKey", request.send().await?, 204);

    let request = integrations.list_audit_log().workspace_id(*workspace).subject_id(id.to_string());
    let log = parsed("listAuditLog", request.action(types::AuditAction::ApiKeyRevoke).send().await?, 200);
    assert_eq!(log.entries.len(), 1);
    Ok(())
}

/// A link to the portal, the session that it starts, and its end.
async fn portal_access(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let own = parsed("getSession", integrations.get_session().workspace_id(*workspace).send().await?, 200);
    assert_eq!(own.kind, types::OwnSessionKind::Key);
    let wanted: types::PortalLinkCreate = body(json!({"role": "VIEWER", "subject": "ana"}))?;
    let request = integrations.create_portal_link().workspace_id(*workspace).body(wanted);
    let link = parsed("createPortalLink", request.send().await?, 201);
    let token = link.url.split('/').find(|part| part.starts_with("msk_")).ok_or("a token is expected")?;
    let guest = stack.with_key(token)?;
    let wanted: types::SessionStart = body(json!({}))?;
    let request = guest.start_session().workspace_id(*workspace).body(wanted);
    let begun = parsed("startSession", request.send().await?, 201);
    let visitor = stack.with_key(&begun.api_key)?;
    parsed("endSession", visitor.end_session().workspace_id(*workspace).send().await?, 204);
    let request = integrations.list_sessions().workspace_id(*workspace).page_size(100);
    let page = parsed("listSessions", request.send().await?, 200);
    let ended = page.sessions.iter().find(|session| session.id == begun.session.id);
    assert!(ended.is_some_and(|session| session.revoked_at.is_some()));
    let request = integrations.revoke_session().workspace_id(*workspace).session_id(begun.session.id);
    parsed("revokeSession", request.send().await?, 204);
    Ok(())
}

async fn webhook_endpoints(stack: &Stack) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let wanted: types::WebhookEndpointCreate =
        body(json!({"url": "https://hooks.example.com/driven", "receiverKey": "k"}))?;
    let request = integrations.create_webhook_endpoint().workspace_id(*workspace).body(wanted);
    let request = request.idempotency_key(Uuid::new_v4().to_string());
    let made = parsed("createWebhookEndpoint", request.send().await?, 201);
    assert!(made.signing_secret.as_ref().is_some_and(|secret| secret.starts_with("whsec_")));
    let id = made.id;

    let request = integrations.list_webhook_endpoints().workspace_id(*workspace);
    let listed = parsed("listWebhookEndpoints", request.send().await?, 200);
    assert!(listed.webhook_endpoints.iter().any(|endpoint| endpoint.id == id));

    let request = integrations.get_webhook_endpoint().workspace_id(*workspace).endpoint_id(id);
    let shown = parsed("getWebhookEndpoint", request.send().await?, 200);
    assert!(!shown.rotation.next_secret_signs);

    let update: types::WebhookEndpointUpdate = body(json!({"url": "https://hooks.example.com/moved"}))?;
    let etag = shown.headers()["etag"].to_str()?.to_owned();
    let request = integrations.update_webhook_endpoint().workspace_id(*workspace).endpoint_id(id);
    let moved = parsed("updateWebhookEndpoint", request.if_match(etag).body(update).send().await?, 200);
    assert!(moved.job.is_some());

    let request = integrations.disable_webhook_endpoint().workspace_id(*workspace).endpoint_id(id);
    let disabled = parsed("disableWebhookEndpoint", request.send().await?, 200);
    assert_eq!(disabled.state, types::WebhookEndpointState::Disabled);

    let request = integrations.enable_webhook_endpoint().workspace_id(*workspace).endpoint_id(id);
    let enabled = parsed("enableWebhookEndpoint", request.send().await?, 200);
    assert_eq!(enabled.state, types::WebhookEndpointState::Enabled);

    let rotate: types::WebhookSecretRotate = body(json!({"replace": false}))?;
    let request = integrations.rotate_webhook_secret().workspace_id(*workspace).endpoint_id(id);
    assert_eq!(parsed("rotateWebhookSecret", request.body(rotate).send().await?, 200).signatures, 2);

    let request = integrations.activate_webhook_secret().workspace_id(*workspace).endpoint_id(id);
    assert!(parsed("activateWebhookSecret", request.send().await?, 200).activated);

    webhook_deliveries(stack, id).await?;

    let request = integrations.delete_webhook_endpoint().workspace_id(*workspace).endpoint_id(id);
    parsed("deleteWebhookEndpoint", request.send().await?, 204);
    Ok(())
}

async fn webhook_deliveries(stack: &Stack, id: Uuid) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    let request = integrations.test_webhook_endpoint().workspace_id(*workspace).endpoint_id(id);
    let sent = parsed("testWebhookEndpoint", request.send().await?, 201);

    let request = integrations.list_deliveries().workspace_id(*workspace).endpoint_id(id);
    let log = parsed("listDeliveries", request.send().await?, 200);
    assert!(log.deliveries.iter().any(|one| one.id == sent.delivery_id));

    let delivery = sent.delivery_id.clone();
    let request = integrations.get_delivery().workspace_id(*workspace).delivery_id(delivery.clone());
    let shown = parsed("getDelivery", request.send().await?, 200);
    assert_eq!(shown.headers[0].value.as_deref(), Some("application/json"));

    let request = integrations.retry_delivery().workspace_id(*workspace).delivery_id(delivery);
    let retry = parsed("retryDelivery", request.send().await?, 201);

    // The service may do a job before it is cancelled.
    for minutes in 1_u64.. {
        let ago = std::time::Duration::from_secs(60 * minutes);
        let since = (std::time::SystemTime::now() - ago).duration_since(std::time::UNIX_EPOCH)?.as_secs();
        let since = chrono::DateTime::from_timestamp(i64::try_from(since)?, 0);
        let wanted: types::WebhookJobRequest = body(json!({"what": "REPLAY", "since": since}))?;
        let request = integrations.request_webhook_job().workspace_id(*workspace).endpoint_id(id).body(wanted);
        let job = parsed("requestWebhookJob", request.send().await?, 201).id;

        let request = integrations.get_webhook_job().workspace_id(*workspace).endpoint_id(id).job_id(job);
        assert_eq!(parsed("getWebhookJob", request.send().await?, 200).what, "REPLAY");

        let request = integrations.cancel_webhook_job().workspace_id(*workspace).endpoint_id(id).job_id(job);
        match request.send().await {
            Err(ended) if ended.status().is_some_and(|status| status == 409) && minutes < 60 => {}
            ended => {
                assert_eq!(parsed("cancelWebhookJob", ended?, 200).state, types::WebhookJobState::Cancelled);
                break;
            }
        }
    }

    let request = integrations.list_webhook_jobs().workspace_id(*workspace).endpoint_id(id);
    let listed = parsed("listWebhookJobs", request.send().await?, 200);
    assert!(listed.jobs.iter().any(|job| job.id == retry.id));

    let request = integrations.list_events().workspace_id(*workspace).include(types::ListEventsInclude::Body);
    let events = parsed("listEvents", request.send().await?, 200);
    assert!(events.events.iter().any(|event| event.id == sent.event_id && event.body.is_some()));

    let request = integrations.get_event().workspace_id(*workspace).event_id(sent.event_id);
    let event = parsed("getEvent", request.send().await?, 200);
    assert_eq!(event.deliveries[0].id, sent.delivery_id);
    Ok(())
}

/// A lead whose number the provider refuses.
async fn leads(stack: &Stack, id: Uuid) -> Result<(), Failed> {
    let Stack { integrations, workspace, .. } = stack;
    for _ in 0..600 {
        let request = integrations.get_lead().workspace_id(*workspace).request_id(id);
        if parsed("getLead", request.send().await?, 200).state == types::LeadState::Failed {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let request = integrations.list_leads().workspace_id(*workspace).state(types::LeadState::Failed);
    assert!(parsed("listLeads", request.send().await?, 200).leads.iter().any(|lead| lead.id == id));

    let retry: types::LeadRetry = body(json!({"maySendTwice": false}))?;
    let request = integrations.retry_lead().workspace_id(*workspace).request_id(id).body(retry);
    assert_eq!(parsed("retryLead", request.send().await?, 200).state, types::LeadState::Queued);

    let wanted: types::LeadRetries = body(json!({"states": ["FAILED"], "errors": ["NO_LINE"]}))?;
    let request = integrations.retry_leads().workspace_id(*workspace).body(wanted);
    assert!(parsed("retryLeads", request.send().await?, 200).retried.is_empty());
    Ok(())
}

async fn lead_capture(stack: &Stack) -> Result<(), Failed> {
    let Stack { capture, integrations, workspace, .. } = stack;
    let shown = parsed("getLeadCapture", integrations.get_lead_capture().workspace_id(*workspace).send().await?, 200);
    let kept: types::LeadCaptureUpdate = body(json!({"threshold": shown.threshold}))?;
    let request = integrations.update_lead_capture().workspace_id(*workspace).body(kept);
    assert_eq!(parsed("updateLeadCapture", request.send().await?, 200).capture_key, shown.capture_key);
    let rekeyed = integrations.rotate_lead_capture_key().workspace_id(*workspace).send().await?;
    let key = parsed("rotateLeadCaptureKey", rekeyed, 200).into_inner().capture_key;
    assert_ne!(key, shown.capture_key);
    let lead: types::CampaignLeadRequest = body(json!({
        "workspaceId": workspace,
        "captureKey": key,
        "cellphone": stack.text("cellphone"),
        "landingUri": format!("{}/spring", stack.text("origin")),
        "consent": {"status": "GRANTED"},
        "recaptchaToken": format!("pass-{}", Uuid::new_v4()),
    }))?;
    parsed("createCampaignLead", capture.create_campaign_lead().body(lead).send().await?, 202);
    let lead: types::CampaignLeadRequest = body(json!({
        "workspaceId": workspace,
        "captureKey": key,
        "cellphone": stack.text("refusedCellphone"),
        "landingUri": format!("{}/spring", stack.text("origin")),
        "consent": {"status": "GRANTED"},
        "recaptchaToken": format!("pass-{}", Uuid::new_v4()),
    }))?;
    let refused = capture.create_campaign_lead().body(lead).send().await?;
    leads(stack, parsed("createCampaignLead", refused, 202).request_id).await?;

    let request = capture.get_lead_script().script(types::GetLeadScriptScript::LeadCapture1Js);
    let script = parsed("getLeadScript", request.send().await?, 200).into_inner();
    let script = script.into_inner().try_fold(String::new(), |text, bytes| async move {
        Ok(text + &String::from_utf8_lossy(&bytes))
    });
    assert!(script.await?.contains("export async function sendLead"));

    parsed("getCaptureHealth", capture.get_capture_health().send().await?, 200);
    Ok(())
}
