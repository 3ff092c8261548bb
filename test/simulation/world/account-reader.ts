import { z } from 'zod';
import type { SimulatedStack } from '../engine/stack.ts';
import {
  type AuditEntry,
  auditEntrySchema,
  type Credentials,
  credentialsSchema,
  type FailingNotification,
  type FoundEvent,
  failingNotificationSchema,
  foundDeliverySchema,
  type HistoryEntry,
  historyEntrySchema,
} from './observations.ts';
import { notificationsOf, type PlannedTenant } from './scenario.ts';

export type AccountReaderOptions = {
  stack: SimulatedStack;
  tenants: readonly PlannedTenant[];
  tokenOf: (tenant: string) => string;
  idOf: (index: number) => string;
};

/** Creates what reads the accounts of all tenants through the API. Each function throws if a request fails. */
export const createAccountReader = ({ stack, tenants, tokenOf, idOf }: AccountReaderOptions) => {
  const collection = async (tenant: string, path: string, limit = 1_000): Promise<unknown[]> => {
    const values: unknown[] = [];
    let marker = '';
    do {
      const response = await stack.request({
        method: 'GET',
        path: `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${marker && `&marker=${encodeURIComponent(marker)}`}`,
        token: tokenOf(tenant),
      });
      if (response.status === 404) return values;
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.body}`);
      const page: { values: unknown[]; metadata: { next_marker: string | null } } = JSON.parse(response.body);
      values.push(...page.values);
      marker = page.metadata.next_marker ?? '';
    } while (marker !== '');
    return values;
  };

  const readCredentials = async (): Promise<ReadonlyMap<string, Credentials>> => {
    const found = new Map<string, Credentials>();
    for (const { name } of tenants) {
      const token = tokenOf(name);
      const { body } = await stack.request({ method: 'GET', path: '/account', token });
      found.set(name, { ...credentialsSchema.parse(JSON.parse(body)), token });
    }
    return found;
  };

  const readHistory = async (): Promise<HistoryEntry[]> => {
    const history: HistoryEntry[] = [];
    for (const tenant of tenants)
      for (const { index } of notificationsOf(tenant)) {
        const entries = await collection(tenant.name, `/notifications/${idOf(index)}/deliveries`);
        history.push(...entries.map((entry) => ({ ...historyEntrySchema.parse(entry), notification: index })));
      }
    return history;
  };

  /** Returns the deliveries that a search finds of the first and the last event of each tenant, page by page. */
  const searchEvents = async (history: readonly HistoryEntry[]): Promise<FoundEvent[]> => {
    const found: FoundEvent[] = [];
    for (const tenant of tenants) {
      const indexes = notificationsOf(tenant).map(({ index }) => index);
      const ids = history.filter(({ notification }) => indexes.includes(notification)).map(({ event_id }) => event_id);
      for (const eventId of new Set([...ids.slice(0, 1), ...ids.slice(-1)])) {
        const values = await collection(tenant.name, `/deliveries?event_id=${encodeURIComponent(eventId)}`, 2);
        found.push({ eventId, indexes, deliveries: z.array(foundDeliverySchema).parse(values) });
      }
    }
    return found;
  };

  const readFailures = async (): Promise<ReadonlyMap<string, FailingNotification>> => {
    const found: FailingNotification[] = [];
    for (const { name } of tenants)
      found.push(...z.array(failingNotificationSchema).parse(await collection(name, '/failures')));
    return new Map(found.map((failing) => [failing.notification_id, failing]));
  };

  const readAudits = async (): Promise<AuditEntry[]> => {
    const audits: AuditEntry[] = [];
    for (const { name } of tenants) {
      const entries = await collection(name, '/audits');
      audits.push(...entries.map((entry) => ({ ...auditEntrySchema.parse(entry), tenant: name })));
    }
    return audits;
  };

  /** Returns the IDs of all notifications, by tenant and label. */
  const readLabels = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
    const found: { name: string; id: string }[] = [];
    for (const { name } of tenants) {
      const entries = z
        .array(z.object({ id: z.string(), label: z.string() }))
        .parse(await collection(name, '/notifications'));
      found.push(...entries.map(({ id, label }) => ({ name: `${name} ${label}`, id })));
    }
    return new Map(
      [...Map.groupBy(found, ({ name }) => name)].map(([name, group]) => [name, group.map(({ id }) => id)]),
    );
  };

  return { readLabels, readCredentials, readHistory, searchEvents, readFailures, readAudits };
};
