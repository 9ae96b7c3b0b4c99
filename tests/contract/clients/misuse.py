"""Programs that must not type-check with the client of openapi-python-client: mypy reports an `ignore` that is not needed."""

import uuid

from messaging_client import Client
from messaging_client.api.contacts import get_contact
from messaging_client.api.messages import create_message
from messaging_client.models import (
    Contact,
    ContactCreatedEvent,
    ConversationStatus,
    ConversationUpdate,
    ExternalByEmail,
    FileMessageCreate,
    ForbiddenError,
    InternalByEmail,
    MessageCreateError,
    NoContactError,
    NoContactErrorCode,
    TextMessageCreate,
)

somebody = uuid.UUID(int=0)
client = Client("https://api.example.com")

# A message needs a conversation, and a text or files.
TextMessageCreate(message_body="Hello")  # type: ignore[call-arg]
TextMessageCreate(somebody)  # type: ignore[call-arg]
TextMessageCreate(somebody, None)  # type: ignore[arg-type]
FileMessageCreate(somebody)  # type: ignore[call-arg]
create_message.sync(somebody, client=client, body={"messageBody": "Hello"})  # type: ignore[arg-type]
create_message.sync(somebody, client=client)  # type: ignore[call-arg]

# A participant's identifier has its type.
ExternalByEmail("ana@example.com", "PHONE")  # type: ignore[arg-type]
InternalByEmail("ada@example.com", "ID")  # type: ignore[arg-type]
ConversationUpdate(status="OPEN")  # type: ignore[arg-type]
ConversationUpdate(status=ConversationStatus.RELEASED)

# Errors and events are typed.
answer = get_contact.sync(somebody, somebody, client=client)
answer.id  # type: ignore[union-attr]
if isinstance(answer, NoContactError):
    answer.code = "SERVICE_CONTACT_0404"  # type: ignore[assignment]
    answer.code = NoContactErrorCode.SERVICE_CONTACT_0404
    answer.status = 403  # type: ignore[assignment]
if isinstance(answer, ForbiddenError):
    answer.reason  # type: ignore[attr-defined]
if isinstance(answer, MessageCreateError):  # a different operation's error
    raise AssertionError
if isinstance(answer, Contact):
    len(answer.custom_attributes)


def receive(event: ContactCreatedEvent) -> str | None:
    len(event.payload.custom_attributes)  # type: ignore[arg-type]
    event.event_type = "contact.updated"  # type: ignore[assignment]
    return event.payload.first_name
