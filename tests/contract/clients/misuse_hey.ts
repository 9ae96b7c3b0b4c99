// Programs that must not type-check with @hey-api/openapi-ts: tsc reports a `@ts-expect-error` that expects none.
import * as api from "./hey";

const somebody = "00000000-0000-4000-8000-000000000000";

export const messages: api.MessageCreate[] = [
  { conversationId: somebody, messageBody: "Hello" },
  { conversationId: somebody, mediaIds: [somebody] },
  { conversationId: somebody, messageBody: null, mediaIds: [somebody], replyToMessageId: null },
  // @ts-expect-error A message needs a conversation.
  { messageBody: "Hello" },
  // @ts-expect-error A message needs a text or files.
  { conversationId: somebody },
  // @ts-expect-error `null` is no text.
  { conversationId: somebody, messageBody: null },
  // @ts-expect-error `null` is no file.
  { conversationId: somebody, mediaIds: null },
];

export const externals: api.ExternalParticipantInput[] = [
  { identifier: somebody, identifierType: "ID", brandId: null },
  // @ts-expect-error There is no such type of identifier.
  { identifier: somebody, identifierType: "FAX" },
  // @ts-expect-error An identifier needs its type.
  { identifier: somebody },
];

export const internals: api.InternalParticipantInput[] = [
  { identifier: "ada@example.com", identifierType: "EMAIL" },
  // @ts-expect-error An agent has no phone number.
  { identifier: "+34600111222", identifierType: "PHONE" },
];

// @ts-expect-error There is no such status.
export const update: api.ConversationUpdate = { status: "OPEN" };

export async function read(): Promise<string | null> {
  const path = { workspaceId: somebody, contactId: somebody };
  const { data, error } = await api.getContact({ path });
  if (error) {
    // @ts-expect-error The operation has no such code.
    if (error.code === "SERVICE_USER_0404") return null;
    // @ts-expect-error The operation has no such status.
    if (error.status === 409) return null;
    if (error.status === 404) {
      // @ts-expect-error A 404 has another code.
      if (error.code === "SERVICE_CORE_0503") return null;
    }
    // @ts-expect-error Errors have no such field.
    return error.reason;
  }
  // @ts-expect-error Contacts have no such field.
  data.nickname;
  return `${data.firstName ?? ""} ${data.customAttributes.length}`;
}

type Event = api.ContactCreatedEvent | api.ContactUpdatedEvent | api.MessageCreatedEvent | api.MessageUpdatedEvent;

export function receive(event: Event): number | string | null {
  switch (event.eventType) {
    case "contact.created":
      // @ts-expect-error An event can lack the attributes.
      event.payload.customAttributes.length;
      // @ts-expect-error A contact has no parts.
      event.payload.parts;
      return event.payload.firstName;
    case "message.updated":
      return event.payload.parts.length;
    // @ts-expect-error There is no such event.
    case "message.deleted":
    default:
      return event.entity;
  }
}
