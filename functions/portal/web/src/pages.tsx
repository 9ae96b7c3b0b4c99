// The pages of the portal. The navigation shows those that the session's scopes allow.

import type { ComponentType } from 'preact';

import { ApiKeys } from './pages/api-keys';
import { Attributes } from './pages/attributes';
import { AuditLog } from './pages/audit-log';
import { Contacts, OneContact, OneUser } from './pages/contacts';
import { Conversations, OneConversation } from './pages/conversations';
import { Deliveries, OneDelivery } from './pages/deliveries';
import { Events, OneEvent } from './pages/events';
import { Leads, OneLead } from './pages/leads';
import { Overview } from './pages/overview';
import { PortalAccess } from './pages/portal-access';
import { OneTemplate, Templates } from './pages/templates';
import { OneWebhook, Webhooks } from './pages/webhooks';
import { may } from './session';
import { t } from './words';

interface Entry {
  path: string;
  scope: string;
  /** Absent for pages that only links lead to. */
  name?: () => string;
  view?: ComponentType;
  /** The page of one thing, whose id follows in the address. */
  one?: ComponentType<{ id: string }>;
}

const PAGES: Entry[] = [
  { path: 'overview', scope: 'webhooks:read', name: () => t.overview.title, view: Overview },
  { path: 'webhooks', scope: 'webhooks:read', name: () => t.webhooks.title, view: Webhooks, one: OneWebhook },
  { path: 'deliveries', scope: 'deliveries:read', name: () => t.deliveries.title, view: Deliveries, one: OneDelivery },
  { path: 'events', scope: 'events:read', name: () => t.events.title, view: Events, one: OneEvent },
  { path: 'leads', scope: 'leads:read', name: () => t.leads.title, view: Leads, one: OneLead },
  { path: 'conversations', scope: 'conversations:read', name: () => t.conversations.title, view: Conversations, one: OneConversation },
  { path: 'contacts', scope: 'contacts:read', name: () => t.contacts.title, view: Contacts, one: OneContact },
  { path: 'templates', scope: 'templates:read', name: () => t.templates.title, view: Templates, one: OneTemplate },
  { path: 'attributes', scope: 'settings:read', name: () => t.attributes.title, view: Attributes },
  { path: 'users', scope: 'users:read', one: OneUser },
  { path: 'api-keys', scope: 'keys:read', name: () => t.keys.title, view: ApiKeys },
  { path: 'portal-access', scope: 'portal:write', name: () => t.access.title, view: PortalAccess },
  { path: 'audit-log', scope: 'audit:read', name: () => t.audit.title, view: AuditLog },
];

export const offered = (): Entry[] => PAGES.filter(({ scope, name }) => name && may(scope));

export const pageOf = (path: string): Entry | undefined => PAGES.find((page) => page.path === path);
