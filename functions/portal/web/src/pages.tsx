// The pages of the portal. The navigation shows those that the session's scopes allow.

import type { ComponentType } from 'preact';

import { ApiKeys } from './pages/api-keys';
import { Attributes, OneAttribute } from './pages/attributes';
import { AuditLog } from './pages/audit-log';
import { Brands } from './pages/brands';
import { Contacts, OneContact } from './pages/contacts';
import { Conversations, OneConversation } from './pages/conversations';
import { Deliveries, OneDelivery } from './pages/deliveries';
import { Events, OneEvent } from './pages/events';
import { LeadCapture } from './pages/lead-capture';
import { Leads, OneLead } from './pages/leads';
import { Lines, OneLine } from './pages/lines';
import { Onboarding } from './pages/onboarding';
import { Keywords, OptOuts } from './pages/opt-outs';
import { Overview } from './pages/overview';
import { PortalAccess } from './pages/portal-access';
import { OneTeam, Teams } from './pages/teams';
import { OneTemplate, Templates } from './pages/templates';
import { OneUser, Users } from './pages/users';
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
  /** Whether it is a part of the settings, which have one entry in the menu. */
  setting?: true;
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
  { path: 'lines', scope: 'settings:read', name: () => t.lines.title, view: Lines, one: OneLine },
  { path: 'users', scope: 'users:read', name: () => t.users.title, view: Users, one: OneUser, setting: true },
  { path: 'teams', scope: 'users:read', name: () => t.teams.title, view: Teams, one: OneTeam, setting: true },
  { path: 'onboarding', scope: 'settings:read', name: () => t.onboarding.title, view: Onboarding, setting: true },
  { path: 'attributes', scope: 'settings:read', name: () => t.attributes.title, view: Attributes, one: OneAttribute, setting: true },
  { path: 'opt-outs', scope: 'contacts:read', name: () => t.optOuts.title, view: OptOuts, setting: true },
  { path: 'opt-out-keywords', scope: 'settings:read', name: () => t.keywords.title, view: Keywords, setting: true },
  { path: 'brands', scope: 'settings:read', name: () => t.brands.title, view: Brands, setting: true },
  { path: 'lead-capture', scope: 'settings:read', name: () => t.capture.title, view: LeadCapture, setting: true },
  { path: 'api-keys', scope: 'keys:read', name: () => t.keys.title, view: ApiKeys },
  { path: 'portal-access', scope: 'portal:write', name: () => t.access.title, view: PortalAccess },
  { path: 'audit-log', scope: 'audit:read', name: () => t.audit.title, view: AuditLog },
];

const named = (): Entry[] => PAGES.filter(({ scope, name }) => name && may(scope));

/** What the menu offers. The first part of the settings stands for all. */
export function offered(): Entry[] {
  const first = settings()[0];
  return named().filter((page) => !page.setting || page === first);
}

/** The parts of the settings. */
export const settings = (): Entry[] => named().filter(({ setting }) => setting);

export const pageOf = (path: string): Entry | undefined => PAGES.find((page) => page.path === path);
