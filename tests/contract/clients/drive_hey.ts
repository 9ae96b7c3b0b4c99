// Calls every operation with the client of @hey-api/openapi-ts. Prints the name of each operation that succeeded. The
// environment names a running stack (see ../test_driving.py).
import type { ApiKeyCreated, Conversation, ConversationPage, CustomAttribute, FileDownload } from "./hey";
import type { Message, MessageCreated, MessagePage, TemplatePage, TemplatePreview } from "./hey";
import type { ExternalParticipantInput, InternalParticipantInput } from "./hey";
import * as api from "./hey";
import { createClient } from "./hey/client";
import { digestOfHello, printed, putHello, stack } from "./stack";

const client = createClient({ baseUrl: stack.baseUrl, auth: stack.apiKey });
const visitor = createClient({ baseUrl: stack.captureUrl });
const workspace = { workspaceId: stack.workspaceId };

async function main(): Promise<void> {
  const customer: ExternalParticipantInput = { identifier: stack.cellphone, identifierType: "PHONE" };
  const agent: InternalParticipantInput = { identifier: stack.email, identifierType: "EMAIL" };
  const created = await api.createConversation({
    client,
    path: workspace,
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: { participants: { externals: [customer], internals: [agent] }, name: "Order 4711", onboardingTemplates: [] },
  });
  const conversation: Conversation = printed("createConversation", created, 201);
  const one = { ...workspace, conversationId: conversation.id };

  const page = await api.listConversations({ client, path: workspace, query: { pageSize: 1, status: "ACTIVE" } });
  const listed: ConversationPage = printed("listConversations", page, 200);
  if (listed.conversations.length !== 1) throw new Error("one conversation is expected");

  const read = await api.getConversation({ client, path: one });
  printed("getConversation", read, 200);

  const changed = await api.updateConversation({
    client,
    path: one,
    headers: { "If-Match": read.response.headers.get("ETag") ?? "" },
    body: { name: "Order 4712" },
  });
  const renamed: Conversation = printed("updateConversation", changed, 200);
  if (renamed.name !== "Order 4712") throw new Error("the new name is expected");

  const contacts = await api.listContacts({ client, path: workspace, query: { pageSize: 30 } });
  const { contacts: known } = printed("listContacts", contacts, 200);
  const [contact, second] = [known[0], known[known.length - 1]];
  if (contact === undefined || second === undefined) throw new Error("contacts are expected");
  const path = { ...workspace, contactId: contact.id };

  const found = await api.getContact({ client, path });
  printed("getContact", found, 200);

  const kept = await api.updateContact({
    client,
    path,
    headers: { "If-Match": found.response.headers.get("ETag") ?? "" },
    body: { firstName: "Augusta", languageCode: null },
  });
  if (printed("updateContact", kept, 200).firstName !== "Augusta") throw new Error("the new name is expected");

  const asked = await api.eraseContact({ client, path, body: { dryRun: true } });
  const preview = printed("eraseContact", asked, 202);
  const shown = await api.getErasure({ client, path: { ...workspace, erasureId: preview.erasureId } });
  if (printed("getErasure", shown, 200).contactIds[0] !== contact.id) throw new Error("the contact is expected");

  const merged = await api.mergeContacts({ client, path, body: { contactId: second.id } });
  if (printed("mergeContacts", merged, 202).mergedContactId !== second.id) throw new Error("the contact is expected");

  const missing = await api.getContact({ client, path: { ...workspace, contactId: crypto.randomUUID() } });
  if (missing.error?.code !== "SERVICE_CONTACT_0404") throw new Error("no contact is expected");
  const status: 404 = missing.error.status;
  if (missing.response.status !== status) throw new Error("status and body differ");

  const attributes = await api.listCustomAttributes({ client, path: workspace });
  const definitions: CustomAttribute[] = printed("listCustomAttributes", attributes, 200).customAttributes;
  if (definitions.length === 0) throw new Error("attributes are expected");

  const attributeWish = { keyName: crypto.randomUUID(), category: "CLOSED" as const, values: ["Free"] };
  const newAttribute = printed("createCustomAttribute", await api.createCustomAttribute({ client, path: workspace, body: attributeWish }), 201);
  const ofPlan = { client, path: { ...workspace, attributeId: newAttribute.id } };
  const plan = await api.getCustomAttribute(ofPlan);
  if (printed("getCustomAttribute", plan, 200).deletedAt !== null) throw new Error("an active attribute is expected");
  const planTag = plan.response.headers.get("ETag") ?? "";
  const twoValues = await api.addCustomAttributeValue({ ...ofPlan, headers: { "If-Match": planTag }, body: { value: "Paid" } });
  const paid = printed("addCustomAttributeValue", twoValues, 200).closedAttributesValues[1];
  if (!paid) throw new Error("two values are expected");
  const ofPaid = { client, path: { ...ofPlan.path, valueId: paid.id } };
  printed("renameCustomAttributeValue", await api.renameCustomAttributeValue({ ...ofPaid, body: { value: "Team" } }), 200);
  const gone = await api.updateCustomAttribute({ ...ofPlan, body: { archived: true } });
  if (printed("updateCustomAttribute", gone, 200).deletedAt === null) throw new Error("an archived attribute is expected");

  const newOptOut = printed("createOptOut", await api.createOptOut({ client, path: workspace, body: { cellphone: "+34600111557" } }), 201);
  const optOuts = printed("listOptOuts", await api.listOptOuts({ client, path: workspace, query: { pageSize: 100 } }), 200);
  if (!optOuts.optOuts.some((found) => found.id === newOptOut.id)) throw new Error("the opt-out is expected");
  printed("deleteOptOut", await api.deleteOptOut({ client, path: { ...workspace, optOutId: newOptOut.id } }), 204);
  const shownWords = await api.getOptOutKeywords({ client, path: workspace });
  const { stop, stopMarketing, start } = printed("getOptOutKeywords", shownWords, 200);
  const wordsTag = shownWords.response.headers.get("ETag") ?? "";
  const ownWords = await api.setOptOutKeywords({ client, path: workspace, headers: { "If-Match": wordsTag }, body: { stop, stopMarketing, start } });
  if (printed("setOptOutKeywords", ownWords, 200).isDefault) throw new Error("own keywords are expected");
  printed("resetOptOutKeywords", await api.resetOptOutKeywords({ client, path: workspace }), 204);

  const shownCapture = await api.getLeadCapture({ client, path: workspace });
  const capturing = printed("getLeadCapture", shownCapture, 200);
  const captureTag = shownCapture.response.headers.get("ETag") ?? "";
  const threshold = { threshold: capturing.threshold };
  const keptCapture = await api.updateLeadCapture({ client, path: workspace, headers: { "If-Match": captureTag }, body: threshold });
  if (printed("updateLeadCapture", keptCapture, 200).captureKey !== capturing.captureKey) throw new Error("the same key is expected");
  const rekeyed = printed("rotateLeadCaptureKey", await api.rotateLeadCaptureKey({ client, path: workspace }), 200);
  const captureKey = rekeyed.captureKey ?? "";
  if (captureKey === capturing.captureKey) throw new Error("another key is expected");

  const shownOnboarding = await api.getOnboarding({ client, path: workspace });
  const onboarding = printed("getOnboarding", shownOnboarding, 200);
  const onboardingTag = shownOnboarding.response.headers.get("ETag") ?? "";
  const sameOnboarding = await api.setOnboarding({ client, path: workspace, headers: { "If-Match": onboardingTag }, body: onboarding });
  if (printed("setOnboarding", sameOnboarding, 200).override !== onboarding.override) throw new Error("the same onboarding is expected");
  const { brands } = printed("listBrands", await api.listBrands({ client, path: workspace }), 200);
  const { lines } = printed("listLines", await api.listLines({ client, path: workspace }), 200);
  const foreign = lines.filter((line) => !brands.some((brand) => brand.id === line.brandId));
  if (foreign.length > 0) throw new Error("each line has a brand of the list");
  const { steps } = printed("getUsage", await api.getUsage({ client, path: workspace, query: { step: "DAY" } }), 200);
  if (steps.length !== 30 || !steps.some((step) => (step.counts["message.created.outbound"] ?? 0) > 0)) throw new Error("30 days with messages are expected");

  const user = await api.getUser({ client, path: { ...workspace, userId: stack.userId } });
  if (printed("getUser", user, 200).email !== stack.email) throw new Error("another user is expected");

  const active = await api.listUsers({ client, path: workspace, query: { status: "active", search: stack.email } });
  if (printed("listUsers", active, 200).users[0]?.id !== stack.userId) throw new Error("the user is expected");
  const [team] = printed("listTeams", await api.listTeams({ client, path: workspace }), 200).teams.filter(({ members }) => members.length > 0);
  if (!team) throw new Error("a team is expected");
  const oneTeam = await api.getTeam({ client, path: { ...workspace, teamId: team.id } });
  if (printed("getTeam", oneTeam, 200).members.length === 0) throw new Error("members are expected");
  const newUser = await api.createUser({ client, path: workspace, body: { email: `${crypto.randomUUID()}@example.com`, firstName: "Jo" } });
  const ofUser = { client, path: { ...workspace, userId: printed("createUser", newUser, 201).id } };
  const userTag = newUser.response.headers.get("ETag") ?? "";
  const changedUser = await api.updateUser({ ...ofUser, headers: { "If-Match": userTag }, body: { status: "disabled" } });
  if (printed("updateUser", changedUser, 200).status !== "disabled") throw new Error("it is expected to be disabled");
  const newTeam = printed("createTeam", await api.createTeam({ client, path: workspace, body: { name: crypto.randomUUID() } }), 201);
  const ofTeam = { client, path: { ...workspace, teamId: newTeam.id } };
  const renamedTeam = await api.updateTeam({ ...ofTeam, body: { name: `${newTeam.name} 2` } });
  if (printed("updateTeam", renamedTeam, 200).name === newTeam.name) throw new Error("another name is expected");
  printed("deleteTeam", await api.deleteTeam(ofTeam), 204);

  const uploads = await api.createUploads({
    client,
    path: workspace,
    body: [{ name: "hello.txt", fileType: "DOCUMENT", contentType: "text/plain", checksumBase64: digestOfHello }],
  });
  const [upload] = printed("createUploads", uploads, 201);
  if (upload?.presignUrl.method !== "PUT") throw new Error("an upload is expected");
  await putHello(upload.presignUrl.url, upload.presignUrl.headers["Content-Type"]);

  const file = await api.getFile({ client, path: { ...workspace, mediaId: upload.mediaId } });
  const download: FileDownload = printed("getFile", file, 200);
  if ((await (await fetch(download.url)).text()) !== "hello") throw new Error("the file is expected");

  const sent = await api.createMessage({
    client,
    path: workspace,
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: { conversationId: conversation.id, messageBody: "Your order is on its way." },
  });
  const message: MessageCreated = printed("createMessage", sent, 201);
  if (message.messagingProduct !== "SERVICE") throw new Error("another product is expected");

  const alone = await api.getMessage({
    client,
    path: { ...workspace, messageId: message.messageId },
    query: { conversationId: conversation.id },
  });
  const said: Message = printed("getMessage", alone, 200);
  if (said.direction !== "OUTBOUND" || said.sender.type !== "API") throw new Error("another message is expected");

  const messages = await api.listMessages({ client, path: one, query: { pageSize: 5, direction: "OUTBOUND" } });
  const listedMessages: MessagePage = printed("listMessages", messages, 200);
  if (listedMessages.messages.some((found) => found.id !== message.messageId)) throw new Error("one message is expected");

  const offered = await api.listTemplates({ client, path: workspace, query: { pageSize: 5 } });
  const templates: TemplatePage = printed("listTemplates", offered, 200);
  const [template] = templates.templates;
  if (template === undefined) throw new Error("a template is expected");
  const ofTemplate = { ...workspace, templateId: template.id };
  const ofId = await api.getTemplate({ client, path: ofTemplate });
  if (printed("getTemplate", ofId, 200).name !== template.name) throw new Error("another template is expected");
  const filled = await api.previewTemplate({ client, path: ofTemplate, body: { contactId: contact.id, parameters: {} } });
  const wouldSay: TemplatePreview = printed("previewTemplate", filled, 200);
  if (wouldSay.footer !== template.footer) throw new Error("another preview is expected");

  const keyed = await api.createApiKey({
    client,
    path: workspace,
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: { name: "driven", scopes: ["users:read"], rate: 1 },
  });
  const key: ApiKeyCreated = printed("createApiKey", keyed, 201);
  if (key.apiKey?.startsWith("msk_") !== true) throw new Error("a secret value is expected");
  const keys = await api.listApiKeys({ client, path: workspace, query: { pageSize: 100 } });
  const { apiKeys } = printed("listApiKeys", keys, 200);
  if (!apiKeys.some((found) => found.id === key.id)) throw new Error("the key is expected");
  const ofKey = { ...workspace, keyId: key.id };
  const driven = await api.getApiKey({ client, path: ofKey });
  if (printed("getApiKey", driven, 200).revokedAt !== null) throw new Error("a valid key is expected");
  const etag = driven.response.headers.get("ETag") ?? "";
  const other = await api.updateApiKey({ client, path: ofKey, headers: { "If-Match": etag }, body: { name: "other" } });
  if (printed("updateApiKey", other, 200).name !== "other") throw new Error("the new name is expected");
  printed("revokeApiKey", await api.revokeApiKey({ client, path: ofKey }), 204);
  const query = { action: "api_key.revoke", subjectId: key.id } as const;
  const log = await api.listAuditLog({ client, path: workspace, query });
  if (printed("listAuditLog", log, 200).entries.length !== 1) throw new Error("one entry is expected");

  if (printed("getSession", await api.getSession({ client, path: workspace }), 200).kind !== "KEY") throw new Error("a key is expected");
  const link = await api.createPortalLink({ client, path: workspace, body: { role: "VIEWER", subject: "ana" } });
  const token = printed("createPortalLink", link, 201).url.split("/").find((part) => part.startsWith("msk_")) ?? "";
  const started = await api.startSession({ client, path: workspace, headers: { "x-api-key": token }, body: {} });
  const begun = printed("startSession", started, 201);
  const out = await api.endSession({ client, path: workspace, headers: { "x-api-key": begun.apiKey } });
  printed("endSession", out, 204);
  const sessions = await api.listSessions({ client, path: workspace, query: { pageSize: 100 } });
  const seen = printed("listSessions", sessions, 200).sessions.find((found) => found.id === begun.session.id);
  if (seen?.revokedAt == null) throw new Error("an ended session is expected");
  const ofSession = { ...workspace, sessionId: begun.session.id };
  printed("revokeSession", await api.revokeSession({ client, path: ofSession }), 204);

  const receiver = await api.createWebhookEndpoint({
    client,
    path: workspace,
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: { url: "https://hooks.example.com/driven", receiverKey: "k" },
  });
  const endpoint = printed("createWebhookEndpoint", receiver, 201);
  if (endpoint.signingSecret?.startsWith("whsec_") !== true) throw new Error("a signing secret is expected");
  const { webhookEndpoints } = printed("listWebhookEndpoints", await api.listWebhookEndpoints({ client, path: workspace }), 200);
  if (!webhookEndpoints.some((found) => found.id === endpoint.id)) throw new Error("the endpoint is expected");
  const ofEndpoint = { client, path: { ...workspace, endpointId: endpoint.id } };
  const shownEndpoint = await api.getWebhookEndpoint(ofEndpoint);
  if (printed("getWebhookEndpoint", shownEndpoint, 200).rotation.nextSecretSigns) throw new Error("no rotation is expected");
  const tag = shownEndpoint.response.headers.get("ETag") ?? "";
  const moved = { url: "https://hooks.example.com/moved" };
  const movedTo = await api.updateWebhookEndpoint({ ...ofEndpoint, headers: { "If-Match": tag }, body: moved });
  if (printed("updateWebhookEndpoint", movedTo, 200).job === null) throw new Error("a job is expected");
  const disabled = printed("disableWebhookEndpoint", await api.disableWebhookEndpoint(ofEndpoint), 200);
  const enabled = printed("enableWebhookEndpoint", await api.enableWebhookEndpoint(ofEndpoint), 200);
  if (disabled.state !== "DISABLED" || enabled.state !== "ENABLED") throw new Error("both states are expected");
  const rotated = await api.rotateWebhookSecret({ ...ofEndpoint, body: { replace: false } });
  if (printed("rotateWebhookSecret", rotated, 200).signatures !== 2) throw new Error("two secrets are expected");
  const activated = printed("activateWebhookSecret", await api.activateWebhookSecret(ofEndpoint), 200);
  if (!activated.activated) throw new Error("the next secret is expected to be active");
  {
    const sent = printed("testWebhookEndpoint", await api.testWebhookEndpoint(ofEndpoint), 201);
    const log = await api.listDeliveries({ client, path: workspace, query: { endpointId: endpoint.id } });
    if (printed("listDeliveries", log, 200).deliveries[0]?.id !== sent.deliveryId) throw new Error("the delivery is expected");
    const ofDelivery = { client, path: { ...workspace, deliveryId: sent.deliveryId } };
    const delivery = printed("getDelivery", await api.getDelivery(ofDelivery), 200);
    if (delivery.headers[0]?.value !== "application/json") throw new Error("the content type is expected");
    const retry = printed("retryDelivery", await api.retryDelivery(ofDelivery), 201);
    if (retry.deliveryId !== sent.deliveryId) throw new Error("the job is expected to name its delivery");
    // The service may do a job before it is cancelled.
    for (let minutes = 1; ; minutes += 1) {
      const since = new Date(Date.now() - minutes * 60_000).toISOString();
      const asked = printed("requestWebhookJob", await api.requestWebhookJob({ ...ofEndpoint, body: { what: "REPLAY", since } }), 201);
      const ofJob = { client, path: { ...ofEndpoint.path, jobId: asked.id } };
      if (printed("getWebhookJob", await api.getWebhookJob(ofJob), 200).what !== "REPLAY") throw new Error("a replay is expected");
      const ended = await api.cancelWebhookJob(ofJob);
      if (ended.response?.status === 409 && minutes < 60) continue;
      if (printed("cancelWebhookJob", ended, 200).state !== "CANCELLED") throw new Error("the job is expected to be cancelled");
      break;
    }
    const { jobs } = printed("listWebhookJobs", await api.listWebhookJobs(ofEndpoint), 200);
    if (!jobs.some((found) => found.id === retry.id)) throw new Error("the retry is expected");
    const recorded = await api.listEvents({ client, path: workspace, query: { eventType: "webhook.test", include: "body" } });
    if (!printed("listEvents", recorded, 200).events.some((found) => found.id === sent.eventId && found.body)) throw new Error("the event is expected");
    const event = printed("getEvent", await api.getEvent({ client, path: { ...workspace, eventId: sent.eventId } }), 200);
    if (event.deliveries[0]?.id !== sent.deliveryId) throw new Error("its delivery is expected");
  }
  printed("deleteWebhookEndpoint", await api.deleteWebhookEndpoint(ofEndpoint), 204);

  const lead = await api.createCampaignLead({
    client: visitor,
    query: workspace,
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
  const refused = await api.createCampaignLead({
    client: visitor,
    query: workspace,
    body: {
      workspaceId: stack.workspaceId,
      captureKey,
      cellphone: stack.refusedCellphone,
      landingUri: `${stack.origin}/spring`,
      consent: { status: "GRANTED" },
      recaptchaToken: `pass-${crypto.randomUUID()}`,
    },
  });
  const ofLead = { client, path: { ...workspace, requestId: printed("createCampaignLead", refused, 202).requestId } };
  const leadNow = async () => printed("getLead", await api.getLead(ofLead), 200);
  for (let tries = 0; tries < 600 && (await leadNow()).state !== "FAILED"; tries += 1) await new Promise((done) => setTimeout(done, 100));
  if ((await leadNow()).error !== "131026") throw new Error("the lead is expected to fail");
  const failed = await api.listLeads({ client, path: workspace, query: { state: "FAILED" } });
  if (!printed("listLeads", failed, 200).leads.some((found) => found.id === ofLead.path.requestId)) throw new Error("the lead is expected");
  const retried = await api.retryLead({ ...ofLead, body: { maySendTwice: false } });
  if (printed("retryLead", retried, 200).state !== "QUEUED") throw new Error("the lead is expected to be queued");
  const retries = await api.retryLeads({ client, path: workspace, body: { states: ["FAILED"], errors: ["NO_LINE"] } });
  if (printed("retryLeads", retries, 200).retried.length !== 0) throw new Error("no lead lacks a line");

  // `fetch` of browsers sends its own preflight requests. `fetch` of Node.js sends none, so this is the only one.
  const preflight = await api.preflightCampaignLead({ client: visitor, query: workspace, headers: { Origin: stack.origin } });
  printed("preflightCampaignLead", preflight, 204);

  // This generator takes a script for a file.
  const script = await api.getLeadScript({ client: visitor, path: { script: "lead-capture-1.js" }, parseAs: "blob" });
  const code: string = await printed("getLeadScript", script, 200).text();
  if (!code.includes("export async function sendLead")) throw new Error("the script is expected");

  printed("getCaptureHealth", await api.getCaptureHealth({ client: visitor }), 200);
}

void main();
