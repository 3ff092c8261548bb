import type { InboxMessage } from '../../bin/local/inbox.ts';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { Client, connectApi } from '../support/api.ts';
import type { Taken } from './destinations.ts';

/** A notification that events are sent to. `key` names it in what its destination receives. */
export type Target = { id: string; tenant: string; type: NotificationTypeId; key: string; owner: Client };

const phoneOf = (index: number): string => `+1202555${String(1_000 + index)}`;
const contactOf = (index: number): string => `contact-${index}@example.com`;

/** How a notification of each type is made, and by what its deliveries are known. */
const make = (
  type: NotificationTypeId,
  index: number,
  destinations: string,
  tenant: string,
): { key: string; details: object } => {
  const key = `n-${index}-${type}`;
  switch (type) {
    case 'email':
      return { key: `${key}@example.com`, details: { address: `${key}@example.com` } };
    case 'webhook':
      return { key, details: { url: `${destinations}/hook/${key}` } };
    case 'incidentpager':
      return { key, details: { service_key: 'k', service_endpoint: `${destinations}/pager/${key}` } };
    case 'sms':
      return { key: phoneOf(index), details: { phone_number: phoneOf(index) } };
    case 'incidentrouter':
      return { key, details: { api_key: '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f', routing_key: key } };
    case 'atomfeed':
      return { key, details: { category: key } };
    case 'technicalContactsEmail':
      return { key: contactOf(index), details: {} };
    case 'managed':
      return { key: `tenant ${tenant}`, details: {} };
  }
};

/** Makes tenants with a notification of each type; by tenant. */
export const makeTargets = async (
  { newClient, documents, table }: ReturnType<typeof connectApi>,
  tenants: number,
  destinations: string,
): Promise<Map<string, Target[]>> => {
  const targets = new Map<string, Target[]>();
  for (let index = 0; index < tenants; index++) {
    const owner = await newClient();
    const { tenant } = owner;
    await createAccountRepository(documents, table('Accounts')).setTechnicalContacts(tenant, [contactOf(index)]);
    const own = await Promise.all(
      notificationTypeIds.map(async (type): Promise<Target> => {
        const { key, details } = make(type, index, destinations, tenant);
        return { id: await owner.create({ label: key, type, details }), tenant, type, key, owner };
      }),
    );
    targets.set(tenant, own);
  }
  return targets;
};

/** An alarm event whose number stands in whatever a destination receives. */
export const makeEvent = (
  tenant: string,
  number: number,
  state: 'OK' | 'WARNING' | 'CRITICAL',
  ids: readonly string[],
  random: () => number,
) => {
  const alarm = `al${Math.floor(random() * 5)}`;
  const timestamp = 1_700_000_000_000 + number * 1_000;
  return {
    number,
    event_id: `${tenant}:en:${alarm}:ch:${timestamp}:${state}`,
    log_entry_id: null,
    tenant_id: tenant,
    details: { state, timestamp, status: `#${number}#` },
    entity: { id: 'en', label: 'web-1' },
    check: { id: 'ch' },
    alarm: { id: alarm, label: `#${number}#` },
    previous_state: null,
    notification_plan: { id: 'np', ok_state: ids, warning_state: ids, critical_state: ids },
  };
};

/** The deliveries that something in the inbox is. */
export const takenByInbox = (one: InboxMessage): Taken[] => {
  const text = 'text' in one ? one.text : '';
  const number = /#(\d+)#/.exec(text)?.[1] ?? '';
  const at = Date.parse(one.sent_at);
  if (one.kind === 'email') return one.to.map((address) => ({ delivery: `${number} ${address}`, at }));
  if (one.kind === 'sms') return [{ delivery: `${number} ${one.to}`, at }];
  if (one.kind === 'managed') return [{ delivery: `${number} tenant ${/^Tenant: (.*)$/m.exec(text)?.[1]}`, at }];
  return [];
};
