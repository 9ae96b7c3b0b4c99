// Calls every operation with openapi-fetch and the types of openapi-typescript. Prints the name of each operation that
// succeeded. The environment names a running stack (see ../test_driving.py).
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi_typescript";
import { digestOfHello, printed, putHello, stack } from "./stack";

type Schemas = components["schemas"];

const client = createClient<paths>({ baseUrl: stack.baseUrl, headers: { "x-api-key": stack.apiKey } });
const visitor = createClient<paths>({ baseUrl: stack.captureUrl });
const workspace = { workspaceId: stack.workspaceId };

async function main(): Promise<void> {
  const customer: Schemas["ExternalParticipantInput"] = { identifier: stack.cellphone, identifierType: "PHONE" };
  const agent: Schemas["InternalParticipantInput"] = { identifier: stack.email, identifierType: "EMAIL" };
  const created = await client.POST("/service/api/v1/workspaces/{workspaceId}/conversations", {
    params: { path: workspace, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { participants: { externals: [customer], internals: [agent] }, name: "Order 4711", onboardingTemplates: [] },
  });
  const conversation: Schemas["Conversation"] = printed("createConversation", created, 201);
  const one = { ...workspace, conversationId: conversation.id };

  const page = await client.GET("/service/api/v1/workspaces/{workspaceId}/conversations", {
    params: { path: workspace, query: { pageSize: 1, status: "ACTIVE" } },
  });
  const listed: Schemas["ConversationPage"] = printed("listConversations", page, 200);
  if (listed.conversations.length !== 1) throw new Error("one conversation is expected");

  const read = await client.GET("/service/api/v1/workspaces/{workspaceId}/conversations/{conversationId}", {
    params: { path: one },
  });
  printed("getConversation", read, 200);

  const changed = await client.PATCH("/service/api/v1/workspaces/{workspaceId}/conversations/{conversationId}", {
    params: { path: one, header: { "If-Match": read.response.headers.get("ETag") ?? "" } },
    body: { name: "Order 4712" },
  });
  const renamed: Schemas["Conversation"] = printed("updateConversation", changed, 200);
  if (renamed.name !== "Order 4712") throw new Error("the new name is expected");

  const contacts = await client.GET("/service/api/v1/workspaces/{workspaceId}/contacts", {
    params: { path: workspace, query: { pageSize: 30 } },
  });
  const { contacts: known } = printed("listContacts", contacts, 200);
  const [contact, second] = [known[0], known[known.length - 1]];
  if (contact === undefined || second === undefined) throw new Error("contacts are expected");
  const path = { ...workspace, contactId: contact.id };

  const found = await client.GET("/service/api/v1/workspaces/{workspaceId}/contacts/{contactId}", { params: { path } });
  printed("getContact", found, 200);

  const kept = await client.PATCH("/service/api/v1/workspaces/{workspaceId}/contacts/{contactId}", {
    params: { path, header: { "If-Match": found.response.headers.get("ETag") ?? "" } },
    body: { firstName: "Augusta", languageCode: null },
  });
  if (printed("updateContact", kept, 200).firstName !== "Augusta") throw new Error("the new name is expected");

  const asked = await client.POST("/service/api/v1/workspaces/{workspaceId}/contacts/{contactId}/erasure", {
    params: { path },
    body: { dryRun: true },
  });
  const preview = printed("eraseContact", asked, 202);
  const shown = await client.GET("/service/api/v1/workspaces/{workspaceId}/erasures/{erasureId}", {
    params: { path: { ...workspace, erasureId: preview.erasureId } },
  });
  if (printed("getErasure", shown, 200).contactIds[0] !== contact.id) throw new Error("the contact is expected");

  const merged = await client.POST("/service/api/v1/workspaces/{workspaceId}/contacts/{contactId}/merge", {
    params: { path },
    body: { contactId: second.id },
  });
  if (printed("mergeContacts", merged, 202).mergedContactId !== second.id) throw new Error("the contact is expected");

  const missing = await client.GET("/service/api/v1/workspaces/{workspaceId}/contacts/{contactId}", {
    params: { path: { ...workspace, contactId: crypto.randomUUID() } },
  });
  if (missing.error?.code !== "SERVICE_CONTACT_0404") throw new Error("no contact is expected");
  const status: 404 = missing.error.status;
  if (missing.response.status !== status) throw new Error("status and body differ");

  const attributes = await client.GET("/service/api/v1/workspaces/{workspaceId}/settings/attributes", {
    params: { path: workspace },
  });
  const definitions: Schemas["CustomAttribute"][] = printed("listCustomAttributes", attributes, 200).customAttributes;
  if (definitions.length === 0) throw new Error("attributes are expected");

  const ATTRIBUTES = "/service/api/v1/workspaces/{workspaceId}/settings/attributes" as const;
  const newAttribute = await client.POST(ATTRIBUTES, {
    params: { path: workspace },
    body: { keyName: crypto.randomUUID(), category: "CLOSED", values: ["Free"] },
  });
  const ofPlan = { ...workspace, attributeId: printed("createCustomAttribute", newAttribute, 201).id };
  const plan = await client.GET(`${ATTRIBUTES}/{attributeId}`, { params: { path: ofPlan } });
  if (printed("getCustomAttribute", plan, 200).deletedAt !== null) throw new Error("an active attribute is expected");
  const twoValues = await client.POST(`${ATTRIBUTES}/{attributeId}/values`, {
    params: { path: ofPlan, header: { "If-Match": plan.response.headers.get("ETag") ?? "" } },
    body: { value: "Paid" },
  });
  const paid = printed("addCustomAttributeValue", twoValues, 200).closedAttributesValues[1];
  if (!paid) throw new Error("two values are expected");
  const renamedValue = await client.PATCH(`${ATTRIBUTES}/{attributeId}/values/{valueId}`, {
    params: { path: { ...ofPlan, valueId: paid.id } },
    body: { value: "Team" },
  });
  printed("renameCustomAttributeValue", renamedValue, 200);
  const archived = await client.PATCH(`${ATTRIBUTES}/{attributeId}`, { params: { path: ofPlan }, body: { archived: true } });
  if (printed("updateCustomAttribute", archived, 200).deletedAt === null) throw new Error("an archived attribute is expected");

  const OPT_OUTS = "/service/api/v1/workspaces/{workspaceId}/opt-outs" as const;
  const newOptOut = await client.POST(OPT_OUTS, { params: { path: workspace }, body: { cellphone: "+34600111556" } });
  const optOutId = printed("createOptOut", newOptOut, 201).id;
  const optOuts = await client.GET(OPT_OUTS, { params: { path: workspace, query: { pageSize: 100 } } });
  if (!printed("listOptOuts", optOuts, 200).optOuts.some((found) => found.id === optOutId)) throw new Error("the opt-out is expected");
  const optedIn = await client.DELETE(`${OPT_OUTS}/{optOutId}`, { params: { path: { ...workspace, optOutId } } });
  printed("deleteOptOut", optedIn, 204);
  const KEYWORDS = "/service/api/v1/workspaces/{workspaceId}/settings/opt-out-keywords" as const;
  const shownWords = await client.GET(KEYWORDS, { params: { path: workspace } });
  const { stop, stopMarketing, start } = printed("getOptOutKeywords", shownWords, 200);
  const ownWords = await client.PUT(KEYWORDS, {
    params: { path: workspace, header: { "If-Match": shownWords.response.headers.get("ETag") ?? "" } },
    body: { stop, stopMarketing, start },
  });
  if (printed("setOptOutKeywords", ownWords, 200).isDefault) throw new Error("own keywords are expected");
  printed("resetOptOutKeywords", await client.DELETE(KEYWORDS, { params: { path: workspace } }), 204);

  const CAPTURE = "/service/api/v1/workspaces/{workspaceId}/settings/capture" as const;
  const shownCapture = await client.GET(CAPTURE, { params: { path: workspace } });
  const capturing = printed("getLeadCapture", shownCapture, 200);
  const keptCapture = await client.PATCH(CAPTURE, {
    params: { path: workspace, header: { "If-Match": shownCapture.response.headers.get("ETag") ?? "" } },
    body: { threshold: capturing.threshold },
  });
  if (printed("updateLeadCapture", keptCapture, 200).captureKey !== capturing.captureKey) throw new Error("the same key is expected");
  const rekeyed = await client.POST(`${CAPTURE}/rotate-key`, { params: { path: workspace } });
  const captureKey = printed("rotateLeadCaptureKey", rekeyed, 200).captureKey ?? "";
  if (captureKey === capturing.captureKey) throw new Error("another key is expected");

  const ONBOARDING = "/service/api/v1/workspaces/{workspaceId}/settings/onboarding" as const;
  const shownOnboarding = await client.GET(ONBOARDING, { params: { path: workspace } });
  const onboarding: Schemas["Onboarding"] = printed("getOnboarding", shownOnboarding, 200);
  const sameOnboarding = await client.PUT(ONBOARDING, {
    params: { path: workspace, header: { "If-Match": shownOnboarding.response.headers.get("ETag") ?? "" } },
    body: onboarding,
  });
  if (printed("setOnboarding", sameOnboarding, 200).override !== onboarding.override) throw new Error("the same onboarding is expected");
  const brands = await client.GET("/service/api/v1/workspaces/{workspaceId}/settings/brands", { params: { path: workspace } });
  const brandIds = printed("listBrands", brands, 200).brands.map((brand) => brand.id);
  const lines = await client.GET("/service/api/v1/workspaces/{workspaceId}/settings/lines", { params: { path: workspace } });
  const foreign = printed("listLines", lines, 200).lines.filter((line) => !brandIds.includes(line.brandId));
  if (foreign.length > 0) throw new Error("each line has a brand of the list");
  const used = await client.GET("/service/api/v1/workspaces/{workspaceId}/usage", { params: { path: workspace, query: { step: "DAY" } } });
  const { steps } = printed("getUsage", used, 200);
  if (steps.length !== 30 || !steps.some((step) => (step.counts["message.created.outbound"] ?? 0) > 0)) throw new Error("30 days with messages are expected");

  const user = await client.GET("/service/api/v1/workspaces/{workspaceId}/users/{userId}", {
    params: { path: { ...workspace, userId: stack.userId } },
  });
  if (printed("getUser", user, 200).email !== stack.email) throw new Error("another user is expected");

  const active = await client.GET("/service/api/v1/workspaces/{workspaceId}/users", {
    params: { path: workspace, query: { status: "active", search: stack.email } },
  });
  if (printed("listUsers", active, 200).users[0]?.id !== stack.userId) throw new Error("the user is expected");
  const teams = await client.GET("/service/api/v1/workspaces/{workspaceId}/teams", { params: { path: workspace } });
  const [team] = printed("listTeams", teams, 200).teams.filter(({ members }) => members.length > 0);
  if (!team) throw new Error("a team is expected");
  const oneTeam = await client.GET("/service/api/v1/workspaces/{workspaceId}/teams/{teamId}", {
    params: { path: { ...workspace, teamId: team.id } },
  });
  if (printed("getTeam", oneTeam, 200).members.length === 0) throw new Error("members are expected");
  const newUser = await client.POST("/service/api/v1/workspaces/{workspaceId}/users", {
    params: { path: workspace },
    body: { email: `${crypto.randomUUID()}@example.com`, firstName: "Jo" },
  });
  const userId = printed("createUser", newUser, 201).id;
  const changedUser = await client.PATCH("/service/api/v1/workspaces/{workspaceId}/users/{userId}", {
    params: { path: { ...workspace, userId }, header: { "If-Match": newUser.response.headers.get("ETag") ?? "" } },
    body: { status: "disabled" },
  });
  if (printed("updateUser", changedUser, 200).status !== "disabled") throw new Error("it is expected to be disabled");
  const createdTeam = await client.POST("/service/api/v1/workspaces/{workspaceId}/teams", {
    params: { path: workspace },
    body: { name: crypto.randomUUID() },
  });
  const newTeam: Schemas["Team"] = printed("createTeam", createdTeam, 201);
  const ofTeam = { path: { ...workspace, teamId: newTeam.id } };
  const renamedTeam = await client.PATCH("/service/api/v1/workspaces/{workspaceId}/teams/{teamId}", {
    params: ofTeam,
    body: { name: `${newTeam.name} 2` },
  });
  if (printed("updateTeam", renamedTeam, 200).name === newTeam.name) throw new Error("another name is expected");
  printed("deleteTeam", await client.DELETE("/service/api/v1/workspaces/{workspaceId}/teams/{teamId}", { params: ofTeam }), 204);

  const uploads = await client.POST("/service/api/v1/workspaces/{workspaceId}/files", {
    params: { path: workspace },
    body: [{ name: "hello.txt", fileType: "DOCUMENT", contentType: "text/plain", checksumBase64: digestOfHello }],
  });
  const [upload] = printed("createUploads", uploads, 201);
  if (upload?.presignUrl.method !== "PUT") throw new Error("an upload is expected");
  await putHello(upload.presignUrl.url, upload.presignUrl.headers["Content-Type"]);

  const file = await client.GET("/service/api/v1/workspaces/{workspaceId}/files/{mediaId}", {
    params: { path: { ...workspace, mediaId: upload.mediaId } },
  });
  const download: Schemas["FileDownload"] = printed("getFile", file, 200);
  if ((await (await fetch(download.url)).text()) !== "hello") throw new Error("the file is expected");

  const sent = await client.POST("/service/api/v1/workspaces/{workspaceId}/messages", {
    params: { path: workspace, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { conversationId: conversation.id, messageBody: "Your order is on its way." },
  });
  const message: Schemas["MessageCreated"] = printed("createMessage", sent, 201);
  if (message.messagingProduct !== "SERVICE") throw new Error("another product is expected");

  const alone = await client.GET("/service/api/v1/workspaces/{workspaceId}/messages/{messageId}", {
    params: { path: { ...workspace, messageId: message.messageId }, query: { conversationId: conversation.id } },
  });
  const said: Schemas["Message"] = printed("getMessage", alone, 200);
  if (said.direction !== "OUTBOUND" || said.sender.type !== "API") throw new Error("another message is expected");

  const messages = await client.GET("/service/api/v1/workspaces/{workspaceId}/conversations/{conversationId}/messages", {
    params: { path: one, query: { pageSize: 5, direction: "OUTBOUND" } },
  });
  const listedMessages: Schemas["MessagePage"] = printed("listMessages", messages, 200);
  if (listedMessages.messages.some((found) => found.id !== message.messageId)) throw new Error("one message is expected");

  const offered = await client.GET("/service/api/v1/workspaces/{workspaceId}/templates", {
    params: { path: workspace, query: { pageSize: 5 } },
  });
  const templates: Schemas["TemplatePage"] = printed("listTemplates", offered, 200);
  const [template] = templates.templates;
  if (template === undefined) throw new Error("a template is expected");
  const ofTemplate = { ...workspace, templateId: template.id };
  const ofId = await client.GET("/service/api/v1/workspaces/{workspaceId}/templates/{templateId}", {
    params: { path: ofTemplate },
  });
  if (printed("getTemplate", ofId, 200).name !== template.name) throw new Error("another template is expected");
  const filled = await client.POST("/service/api/v1/workspaces/{workspaceId}/templates/{templateId}/preview", {
    params: { path: ofTemplate },
    body: { contactId: contact.id, parameters: {} },
  });
  const wouldSay: Schemas["TemplatePreview"] = printed("previewTemplate", filled, 200);
  if (wouldSay.footer !== template.footer) throw new Error("another preview is expected");

  const keyed = await client.POST("/service/api/v1/workspaces/{workspaceId}/api-keys", {
    params: { path: workspace, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { name: "driven", scopes: ["users:read"], rate: 1 },
  });
  const key: Schemas["ApiKeyCreated"] = printed("createApiKey", keyed, 201);
  if (key.apiKey?.startsWith("msk_") !== true) throw new Error("a secret value is expected");
  const keys = await client.GET("/service/api/v1/workspaces/{workspaceId}/api-keys", {
    params: { path: workspace, query: { pageSize: 100 } },
  });
  const apiKeys: Schemas["ApiKey"][] = printed("listApiKeys", keys, 200).apiKeys;
  if (!apiKeys.some((found) => found.id === key.id)) throw new Error("the key is expected");
  const ofKey = { ...workspace, keyId: key.id };
  const driven = await client.GET("/service/api/v1/workspaces/{workspaceId}/api-keys/{keyId}", { params: { path: ofKey } });
  if (printed("getApiKey", driven, 200).revokedAt !== null) throw new Error("a valid key is expected");
  const other = await client.PATCH("/service/api/v1/workspaces/{workspaceId}/api-keys/{keyId}", {
    params: { path: ofKey, header: { "If-Match": driven.response.headers.get("ETag") ?? "" } },
    body: { name: "other" },
  });
  if (printed("updateApiKey", other, 200).name !== "other") throw new Error("the new name is expected");
  const revoked = await client.DELETE("/service/api/v1/workspaces/{workspaceId}/api-keys/{keyId}", {
    params: { path: ofKey },
  });
  printed("revokeApiKey", revoked, 204);
  const log = await client.GET("/service/api/v1/workspaces/{workspaceId}/audit-log", {
    params: { path: workspace, query: { action: "api_key.revoke", subjectId: key.id } },
  });
  if (printed("listAuditLog", log, 200).entries.length !== 1) throw new Error("one entry is expected");

  const own = await client.GET("/service/api/v1/workspaces/{workspaceId}/session", { params: { path: workspace } });
  if (printed("getSession", own, 200).kind !== "KEY") throw new Error("a key is expected");
  const link = await client.POST("/service/api/v1/workspaces/{workspaceId}/portal-links", {
    params: { path: workspace },
    body: { role: "VIEWER", subject: "ana" },
  });
  const token = printed("createPortalLink", link, 201).url.split("/").find((part: string) => part.startsWith("msk_"));
  const started = await client.POST("/service/api/v1/workspaces/{workspaceId}/sessions", {
    params: { path: workspace },
    headers: { "x-api-key": token ?? "" },
    body: {},
  });
  const begun: Schemas["StartedSession"] = printed("startSession", started, 201);
  const out = await client.DELETE("/service/api/v1/workspaces/{workspaceId}/session", {
    params: { path: workspace },
    headers: { "x-api-key": begun.apiKey },
  });
  printed("endSession", out, 204);
  const sessions = await client.GET("/service/api/v1/workspaces/{workspaceId}/sessions", {
    params: { path: workspace, query: { pageSize: 100 } },
  });
  const seen: Schemas["Session"][] = printed("listSessions", sessions, 200).sessions;
  if (seen.find((found) => found.id === begun.session.id)?.revokedAt == null) throw new Error("an ended session is expected");
  const gone = await client.DELETE("/service/api/v1/workspaces/{workspaceId}/sessions/{sessionId}", {
    params: { path: { ...workspace, sessionId: begun.session.id } },
  });
  printed("revokeSession", gone, 204);

  const ENDPOINTS = "/service/api/v1/workspaces/{workspaceId}/webhook-endpoints" as const;
  const receiver = await client.POST(ENDPOINTS, {
    params: { path: workspace, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { url: "https://hooks.example.com/driven", receiverKey: "k" },
  });
  const endpoint: Schemas["WebhookEndpointCreated"] = printed("createWebhookEndpoint", receiver, 201);
  if (endpoint.signingSecret?.startsWith("whsec_") !== true) throw new Error("a signing secret is expected");
  const listedEndpoints = printed("listWebhookEndpoints", await client.GET(ENDPOINTS, { params: { path: workspace } }), 200);
  if (!listedEndpoints.webhookEndpoints.some((found) => found.id === endpoint.id)) throw new Error("the endpoint is expected");
  const ofEndpoint = { path: { ...workspace, endpointId: endpoint.id } };
  const shownEndpoint = await client.GET("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}", { params: ofEndpoint });
  if (printed("getWebhookEndpoint", shownEndpoint, 200).rotation.nextSecretSigns) throw new Error("no rotation is expected");
  const movedEndpoint = await client.PATCH("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}", {
    params: { ...ofEndpoint, header: { "If-Match": shownEndpoint.response.headers.get("ETag") ?? "" } },
    body: { url: "https://hooks.example.com/moved" },
  });
  if (printed("updateWebhookEndpoint", movedEndpoint, 200).job === null) throw new Error("a job is expected");
  const disabled = await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/disable", { params: ofEndpoint });
  if (printed("disableWebhookEndpoint", disabled, 200).state !== "DISABLED") throw new Error("it is expected to be disabled");
  const enabled = await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/enable", { params: ofEndpoint });
  if (printed("enableWebhookEndpoint", enabled, 200).state !== "ENABLED") throw new Error("it is expected to be enabled");
  const rotated = await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/rotate-secret", { params: ofEndpoint, body: { replace: false } });
  if (printed("rotateWebhookSecret", rotated, 200).signatures !== 2) throw new Error("two secrets are expected");
  const activated = await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/activate-secret", { params: ofEndpoint });
  if (!printed("activateWebhookSecret", activated, 200).activated) throw new Error("the next secret is expected to be active");
  {
    const sent = printed("testWebhookEndpoint", await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/test", { params: ofEndpoint }), 201);
    const log = await client.GET("/service/api/v1/workspaces/{workspaceId}/deliveries", { params: { path: workspace, query: { endpointId: endpoint.id } } });
    if (printed("listDeliveries", log, 200).deliveries[0]?.id !== sent.deliveryId) throw new Error("the delivery is expected");
    const ofDelivery = { path: { ...workspace, deliveryId: sent.deliveryId } };
    const delivery = printed("getDelivery", await client.GET("/service/api/v1/workspaces/{workspaceId}/deliveries/{deliveryId}", { params: ofDelivery }), 200);
    if (delivery.headers[0]?.value !== "application/json") throw new Error("the content type is expected");
    const retry = printed("retryDelivery", await client.POST("/service/api/v1/workspaces/{workspaceId}/deliveries/{deliveryId}/retry", { params: ofDelivery }), 201);
    if (retry.deliveryId !== sent.deliveryId) throw new Error("the job is expected to name its delivery");
    // The service may do a job before it is cancelled.
    for (let minutes = 1; ; minutes += 1) {
      const since = new Date(Date.now() - minutes * 60_000).toISOString();
      const asked = await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/jobs", { params: ofEndpoint, body: { what: "REPLAY", since } });
      const ofJob = { path: { ...ofEndpoint.path, jobId: printed("requestWebhookJob", asked, 201).id } };
      const job = await client.GET("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/jobs/{jobId}", { params: ofJob });
      if (printed("getWebhookJob", job, 200).what !== "REPLAY") throw new Error("a replay is expected");
      const ended = await client.POST("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/jobs/{jobId}/cancel", { params: ofJob });
      if (ended.response.status === 409 && minutes < 60) continue;
      if (printed("cancelWebhookJob", ended, 200).state !== "CANCELLED") throw new Error("the job is expected to be cancelled");
      break;
    }
    const jobs = printed("listWebhookJobs", await client.GET("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}/jobs", { params: ofEndpoint }), 200);
    if (!jobs.jobs.some((found) => found.id === retry.id)) throw new Error("the retry is expected");
    const recorded = await client.GET("/service/api/v1/workspaces/{workspaceId}/events", { params: { path: workspace, query: { eventType: "webhook.test", include: "body" } } });
    if (!printed("listEvents", recorded, 200).events.some((found) => found.id === sent.eventId && found.body)) throw new Error("the event is expected");
    const event = await client.GET("/service/api/v1/workspaces/{workspaceId}/events/{eventId}", { params: { path: { ...workspace, eventId: sent.eventId } } });
    if (printed("getEvent", event, 200).deliveries[0]?.id !== sent.deliveryId) throw new Error("its delivery is expected");
  }
  printed("deleteWebhookEndpoint", await client.DELETE("/service/api/v1/workspaces/{workspaceId}/webhook-endpoints/{endpointId}", { params: ofEndpoint }), 204);

  const lead = await visitor.POST("/api/v1/leadscout/campaign-leads", {
    params: { query: workspace },
    body: {
      workspaceId: stack.workspaceId,
      captureKey,
      cellphone: stack.cellphone,
      landingUri: `${stack.origin}/spring`,
      consent: { status: "GRANTED" },
      recaptchaToken: `pass-${crypto.randomUUID()}`,
    },
  });
  printed("createCampaignLead", lead, 202);
  const refused = await visitor.POST("/api/v1/leadscout/campaign-leads", {
    params: { query: workspace },
    body: {
      workspaceId: stack.workspaceId,
      captureKey,
      cellphone: stack.refusedCellphone,
      landingUri: `${stack.origin}/spring`,
      consent: { status: "GRANTED" },
      recaptchaToken: `pass-${crypto.randomUUID()}`,
    },
  });
  const ofLead = { path: { ...workspace, requestId: printed("createCampaignLead", refused, 202).requestId } };
  const leadNow = async () => printed("getLead", await client.GET("/service/api/v1/workspaces/{workspaceId}/leads/{requestId}", { params: ofLead }), 200);
  for (let tries = 0; tries < 600 && (await leadNow()).state !== "FAILED"; tries += 1) await new Promise((done) => setTimeout(done, 100));
  if ((await leadNow()).error !== "131026") throw new Error("the lead is expected to fail");
  const failed = await client.GET("/service/api/v1/workspaces/{workspaceId}/leads", { params: { path: workspace, query: { state: "FAILED" } } });
  if (!printed("listLeads", failed, 200).leads.some((found) => found.id === ofLead.path.requestId)) throw new Error("the lead is expected");
  const retried = await client.POST("/service/api/v1/workspaces/{workspaceId}/leads/{requestId}/retry", { params: ofLead, body: { maySendTwice: false } });
  if (printed("retryLead", retried, 200).state !== "QUEUED") throw new Error("the lead is expected to be queued");
  const retries = await client.POST("/service/api/v1/workspaces/{workspaceId}/lead-retries", { params: { path: workspace }, body: { states: ["FAILED"], errors: ["NO_LINE"] } });
  if (printed("retryLeads", retries, 200).retried.length !== 0) throw new Error("no lead lacks a line");

  // `fetch` of browsers sends its own preflight requests. `fetch` of Node.js sends none, so this is the only one.
  const preflight = await visitor.OPTIONS("/api/v1/leadscout/campaign-leads", {
    params: { query: workspace, header: { Origin: stack.origin } },
  });
  printed("preflightCampaignLead", preflight, 204);

  const script = await visitor.GET("/api/v1/leadscout/scripts/{script}", {
    params: { path: { script: "lead-capture-1.js" } },
    parseAs: "text",
  });
  const code: string = printed("getLeadScript", script, 200);
  if (!code.includes("export async function sendLead")) throw new Error("the script is expected");

  printed("getCaptureHealth", await visitor.GET("/health"), 200);
}

void main();
