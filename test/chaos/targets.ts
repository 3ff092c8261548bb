import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { Client, connectApi } from '../support/api.ts';
import { auditIn } from '../support/audit.ts';
import { newAlarmEvent } from '../support/events.ts';
import { destinationsAt, validDetails } from '../support/notifications.ts';
import type { Random } from './random.ts';

/** A notification to which the run sends events. `key` identifies it in the requests that its destination receives. */
export type ChaosTarget = { id: string; tenant: string; type: NotificationTypeId; key: string; owner: Client };

const phoneNumber = (index: number): string => `+1202555${String(1_000 + index)}`;
/** The number of an account's fallback notification, to which no events are sent. */
const fallbackNumber = (index: number): string => `+1303555${String(1_000 + index)}`;
const contactAddress = (index: number): string => `contact-${index}@example.com`;

/** Returns the key of a notification, and details that contain the key. */
const uniqueDestination = (
  type: NotificationTypeId,
  index: number,
  destinationsUrl: string,
  tenant: string,
): { key: string; details: object } => {
  const key = `n-${index}-${type}`;
  switch (type) {
    case 'email':
      return { key: `${key}@example.com`, details: { address: `${key}@example.com` } };
    case 'sms':
      return { key: phoneNumber(index), details: { phone_number: phoneNumber(index) } };
    case 'incidentrouter':
      return { key, details: { ...validDetails.incidentrouter, routing_key: key } };
    case 'atomfeed':
      return { key, details: { category: key } };
    case 'technicalContactsEmail':
      return { key: contactAddress(index), details: validDetails.technicalContactsEmail };
    case 'managed':
      return { key: `tenant ${tenant}`, details: validDetails.managed };
    default:
      return { key, details: destinationsAt(destinationsUrl, `/${key}`)[type] };
  }
};

/** The summaries of every second tenant: few alerts go out at once, in windows of one to five minutes. */
const summariesOf = (index: number) =>
  index % 2 === 1 ? { summaries: { email_after: 2, sms_after: 1, window_minutes: 1 + (index % 5) } } : {};

/** The limits of every fourth tenant, which reaches them, so that its alerts are summarized every hour. */
const DAILY_LIMITS = { emailsPerTenantPerDay: 20, smsPerTenantPerDay: 5 };

/**
 * Creates tenants with a notification of each type, and an SMS as fallback notification. Some tenants have
 * summaries or reach their daily limits.
 *
 * @returns the notifications by tenant, and the fallback notifications
 */
export const createTargets = async (
  { newClient, documents, table }: ReturnType<typeof connectApi>,
  tenantCount: number,
  destinationsUrl: string,
): Promise<{ targets: Map<string, ChaosTarget[]>; fallbacks: ChaosTarget[] }> => {
  const targets = new Map<string, ChaosTarget[]>();
  const fallbacks: ChaosTarget[] = [];
  for (let index = 0; index < tenantCount; index++) {
    const owner = await newClient();
    const { tenant } = owner;
    const key = fallbackNumber(index);
    const fallback = await owner.create({ label: key, type: 'sms', details: { phone_number: key } });
    fallbacks.push({ id: fallback, tenant, type: 'sms', key, owner });
    const accounts = createAccountRepository(documents, table('Accounts'));
    const audit = auditIn(table('Audits'));
    if (index % 4 === 0) await accounts.changeLimits(tenant, DAILY_LIMITS, audit);
    await accounts.update(
      tenant,
      {
        technical_contacts: [contactAddress(index)],
        escalation_notifications: [fallback],
        ...summariesOf(index),
      },
      audit,
    );
    const ofTenant = await Promise.all(
      notificationTypeIds.map(async (type): Promise<ChaosTarget> => {
        const { key, details } = uniqueDestination(type, index, destinationsUrl, tenant);
        return { id: await owner.create({ label: key, type, details }), tenant, type, key, owner };
      }),
    );
    targets.set(tenant, ofTenant);
  }
  return { targets, fallbacks };
};

/** Creates an alarm event whose number appears in everything that a destination receives. */
export const numberedEvent = (
  tenant: string,
  number: number,
  state: 'OK' | 'WARNING' | 'CRITICAL',
  ids: readonly string[],
  random: Random,
) => {
  const alarm = `al${Math.floor(random() * 5)}`;
  const timeMs = 1_700_000_000_000 + number * 1_000;
  const event = newAlarmEvent(tenant, ids, { state, timeMs, alarm });
  return {
    ...event,
    number,
    event_id: `${tenant}:en:${alarm}:ch:${timeMs}:${state}`,
    tenant_id: tenant,
    details: { ...event.details, state, status: `#${number}#` },
    entity: { ...event.entity, id: 'en' },
    alarm: { id: alarm, label: `#${number}#` },
    previous_state: null,
    notification_plan: { id: 'np', ok_state: ids, warning_state: ids, critical_state: ids },
  };
};
