import { integer, pick, type Random } from '../engine/random.ts';
import type { Operation, PlannedTenant } from './scenario.ts';

/** What operations need to know of a tenant. */
type Tenant = {
  name: string;
  kind: string;
  limits: PlannedTenant['limits'];
  notifications: readonly { index: number; type: string }[];
};

export const limitChangesOf = (tenants: readonly Tenant[], recoveryMs: number, random: Random): Operation[] =>
  tenants
    .filter(({ limits }) => Object.keys(limits).length > 0)
    .filter(() => random() < 0.3)
    .map(({ name, limits }) => ({
      kind: 'limits',
      atMs: Math.round(random() * recoveryMs),
      tenant: name,
      limits: Object.fromEntries(Object.keys(limits).map((limit) => [limit, integer(1, 10, random)])),
    }));

export const operationsOf = (tenants: readonly Tenant[], recoveryMs: number, random: Random): Operation[] => {
  const anyTime = (): number => Math.round(random() * recoveryMs);
  const ordinary = tenants.filter(({ kind }) => kind === 'ordinary');
  return [
    ...Array.from({ length: integer(0, 3, random) }, (): Operation => ({ kind: 'recycle', atMs: anyTime() })),
    ...(random() < 0.3 ? [{ kind: 'redrive', atMs: anyTime() } as const] : []),
    ...(ordinary.length > 0 && random() < 0.2
      ? [
          {
            kind: 'shadow',
            atMs: anyTime(),
            tenant: pick(ordinary, random).name,
            lengthMs: integer(60_000, recoveryMs, random),
          } as const,
        ]
      : []),
  ];
};

/** The numbers of these events, and the indexes of notifications that do not exist. */
const FIRST_UNUSUAL = 1_000;

/** The maximum size of an event in bytes, and how much of it its other fields need at most. */
const MAX_EVENT_BYTES = 262_144;
const OTHER_FIELDS_BYTES = 8_192;
/** The size of most large events: larger than an envelope can be, but cheap. */
const LARGE_EVENT_BYTES = 20_000;

/** Returns large events, too large ones, and events whose plan lists notifications that do not exist. */
export const unusualEventsOf = (tenants: readonly Tenant[], recoveryMs: number, random: Random) =>
  Array.from({ length: integer(0, 3, random) }, (_, position) => {
    const tenant = pick(tenants, random);
    const atMs = Math.round(random() * recoveryMs);
    const kind = pick(['unknown', 'partly unknown', 'large', 'too large'] as const, random);
    if (kind === 'too large')
      return {
        kind: 'invalid' as const,
        atMs,
        tenant: tenant.name,
        body: JSON.stringify({ padding: 'x'.repeat(MAX_EVENT_BYTES) }),
      };
    const number = FIRST_UNUSUAL + position;
    const known = kind === 'unknown' ? [] : tenant.notifications.map(({ index }) => index);
    return {
      kind: 'event' as const,
      atMs,
      tenant: tenant.name,
      number,
      alarm: `al${integer(4, 6, random)}`,
      state: pick(['OK', 'WARNING', 'CRITICAL'] as const, random),
      timeMs: atMs,
      notifications: [...known, ...(kind === 'large' ? [] : [number])],
      repeatsAfterMs: [],
      ...(kind === 'large' && {
        paddingBytes: random() < 0.15 ? MAX_EVENT_BYTES - OTHER_FIELDS_BYTES : LARGE_EVENT_BYTES,
      }),
    };
  });

/** Returns the indexes of webhooks whose host resolves to private addresses until the recovery. */
export const privateWebhooksOf = (tenants: readonly Tenant[], random: Random): number[] =>
  tenants
    .filter(({ kind }) => kind === 'ordinary')
    .flatMap(({ notifications }) => notifications.filter(({ type }) => type === 'webhook'))
    .filter(() => random() < 0.15)
    .map(({ index }) => index);
