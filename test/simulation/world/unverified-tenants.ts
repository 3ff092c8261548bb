import { integer, pick, type Random } from '../engine/random.ts';
import type { PersonAction, PlannedEvent, PlannedNotification } from './scenario.ts';
import { type SpecialTenant, tenantNamed } from './special-tenants.ts';

/** The number of the first of its events. */
const FIRST_NUMBER = 9_800;

/**
 * Returns a tenant with recipients that are not verified before the start: some never, some while alerts arrive. Some events
 * also go to a webhook, so that they need no escalation.
 */
export const unverifiedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const types = ['email', 'sms', 'webhook'] as const;
  const notifications = types.map((type, position): PlannedNotification => {
    const index = firstIndex + position;
    const phases = [{ fromMs: 0, behavior: 'accept' }] as const;
    return { index, key: `d${index}`, type, phases, ...(type !== 'webhook' && { isUnverified: true }) };
  });
  const tenant = tenantNamed('unverified', 'ordinary', notifications);
  const events = Array.from({ length: integer(3, 7, random) }, (_, position): PlannedEvent => {
    const atMs = Math.round(random() * recoveryMs);
    const chosen = notifications.filter(({ type }) => random() < (type === 'webhook' ? 0.3 : 0.7));
    return {
      kind: 'event',
      atMs,
      tenant: tenant.name,
      number: FIRST_NUMBER + position,
      alarm: `al${position}`,
      state: pick(['CRITICAL', 'WARNING', 'OK'], random),
      timeMs: atMs,
      notifications: chosen.length > 0 ? chosen.map(({ index }) => index) : [firstIndex],
      repeatsAfterMs: random() < 0.2 ? [integer(0, 60_000, random)] : [],
    };
  });
  const actions = notifications
    .filter(({ isUnverified }) => isUnverified && random() < 0.6)
    .map(({ index }): PersonAction => {
      const atMs = Math.round(random() * recoveryMs);
      return { kind: 'verify', atMs, tenant: tenant.name, notification: index };
    });
  return { tenant, steps: [...events, ...actions] };
};
