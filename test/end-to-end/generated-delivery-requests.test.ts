import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { payload, type Sink, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { type Client, call, isLocal, newClient, newTenant, webhook } from './support/api.ts';
import { deliveries, sendEvents } from './support/pipeline.ts';

const REQUEST_COUNT = Math.ceil(Number(process.env.GENERATED_REQUESTS ?? 2_000) / 4);
const CONCURRENT = 8;
const EVENT_COUNT = 6;
const DEFAULT_ID = 'ntTechnicalContactsEmail';

const roles = ['admin', 'creator', 'observer'] as const;
/** The third tenant sends no valid request, so none of its data may change. */
const OWNERS = 3;

const invalidText = fc.constantFrom('', '\0', '\ud800', 'a'.repeat(5_000), '__proto__', '../..', '#', '\r\nX: y');
const invalidValue = fc.oneof(fc.jsonValue(), invalidText, fc.constantFrom(null, [], {}, -1, 1e20, '0', [['a']]));
const random = fc.oneof(invalidText, fc.string({ unit: 'binary', maxLength: 50 }));

/** A value of another request of any tenant, by number. */
const known = fc.nat(1_000);
type Part = { known: number } | { random: unknown };
const orRandom = (other: fc.Arbitrary<unknown>): fc.Arbitrary<Part> =>
  fc.oneof({ weight: 4, arbitrary: fc.record({ known }) }, { weight: 1, arbitrary: fc.record({ random: other }) });

/** Returns a value in a third of all cases, otherwise undefined. */
const rarely = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const request = fc.record({
  tenant: fc.nat(1),
  role: fc.constantFrom(...roles),
  id: orRandom(random),
  operation: fc.oneof(
    fc.record({
      kind: fc.constant('list' as const),
      marker: rarely(orRandom(random)),
      limit: fc.oneof(fc.constantFrom(undefined, '1', '2', '1000'), fc.constantFrom('0', '-1', '1001', 'x')),
      status: rarely(fc.constantFrom('failed', 'delivered', 'lost', '')),
      alarm: rarely(orRandom(random)),
    }),
    fc.record({
      kind: fc.constant('redeliver' as const),
      event: rarely(orRandom(invalidValue)),
      since: rarely(fc.oneof(fc.constantFrom<unknown>(0, 1, 9_999_999_999_999), invalidValue)),
      marker: rarely(orRandom(invalidValue)),
    }),
    fc.record({ kind: fc.constant('any' as const), body: fc.oneof(invalidValue, fc.jsonValue()) }),
  ),
});
type Sent = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns requests of a tenant's admin that list and redeliver the deliveries of the default notification. */
const validRequests = (tenant: number): Sent[] => {
  const sent = { tenant, role: 'admin', id: { random: DEFAULT_ID } } as const;
  return [
    { ...sent, operation: { kind: 'list', marker: undefined, limit: '1000', status: undefined, alarm: undefined } },
    { ...sent, operation: { kind: 'redeliver', event: undefined, since: 0, marker: undefined } },
  ];
};

describe.runIf(isLocal)('generated requests to the deliveries of several tenants with the same event IDs', () => {
  const owners: {
    tenant: string;
    clients: Record<(typeof roles)[number], Client>;
    id: string;
    sink: Sink;
  }[] = [];
  const eventIds: string[] = [];
  const markers = ['1700000000000'];
  const alarms: string[] = [];

  /** Returns the records of the shared events. The service also adds notices to the default notification. */
  const recordsOf = async ({ tenant, id }: { tenant: string; id: string }) =>
    [...(await deliveries(tenant, id)), ...(await deliveries(tenant, DEFAULT_ID))]
      .filter(({ event_id }) => eventIds.includes(event_id))
      .toSorted((a, b) => (`${a.pk}${a.sk}` < `${b.pk}${b.sk}` ? -1 : 1));

  beforeAll(async () => {
    let status = 410;
    const suffix = newTenant();
    for (let index = 0; index < OWNERS; index++) {
      const tenant = `owner${index}-${suffix}`;
      const sink = await startSink((response) => response.writeHead(status).end());
      const clients = {
        admin: await newClient('admin', tenant),
        creator: await newClient('creator', tenant),
        observer: await newClient('observer', tenant),
      };
      const id = await clients.admin.create({ ...webhook, details: { url: sink.url } });
      owners.push({ tenant, clients, id, sink });
      alarms.push(`al-${tenant}`);
    }
    for (let event = 0; event < EVENT_COUNT; event++)
      eventIds.push(`shared:en:al${event}:ch:${Date.now() + event}:CRITICAL`);
    await sendEvents(
      owners.flatMap(({ tenant, id }) =>
        // The account has no technical contacts, so the default notification fails too.
        eventIds.map((event_id) => newAlarmEvent(tenant, [id, DEFAULT_ID], { event_id, alarm: `al-${tenant}` })),
      ),
    );
    for (const owner of owners) {
      await until(async () => {
        const records = await recordsOf(owner);
        // Nothing more is written of a failure that was reported.
        const reported = records.filter((record) => record.reported_status === 'failed');
        return reported.length === 2 * EVENT_COUNT || undefined;
      });
      owner.sink.received.length = 0;
    }
    status = 200;
  });

  afterAll(() => {
    for (const { sink } of owners) sink.close();
  });

  it('never fail with 5xx, never reach another tenant, and never exceed the role', async () => {
    const passive = owners[OWNERS - 1];
    if (!passive) throw new Error('There is no passive tenant.');
    const before = await recordsOf(passive);
    const [redelivered, listed] = [new Set<string>(), new Set<string>()];
    const ids = [...owners.map(({ id }) => id), DEFAULT_ID, DEFAULT_ID];

    const resolve = (part: Part | undefined, values: readonly string[]): unknown =>
      part === undefined ? undefined : 'known' in part ? values[part.known % values.length] : part.random;
    const text = (value: unknown): string => encodeURIComponent(String(value).toWellFormed());

    const requestOf = ({ id, operation }: Sent): { method: string; path: string; body?: string } => {
      const path = `/notifications/${text(resolve(id, ids))}`;
      if (operation.kind === 'any')
        return { method: 'POST', path: `${path}/redeliver`, body: JSON.stringify(operation.body) };
      if (operation.kind === 'redeliver') {
        const { event, since, marker } = operation;
        const body = { event_id: resolve(event, eventIds), since, marker: resolve(marker, markers) };
        return { method: 'POST', path: `${path}/redeliver`, body: JSON.stringify(body) };
      }
      const { marker, limit, status, alarm } = operation;
      const parameters = { marker: resolve(marker, markers), limit, status, alarm_id: resolve(alarm, alarms) };
      const query = Object.entries(parameters).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${text(value)}`],
      );
      return { method: 'GET', path: `${path}/deliveries?${query.join('&')}` };
    };

    const check = async (sent: Sent): Promise<void> => {
      const owner = owners[sent.tenant];
      if (!owner) throw new Error('There is no such tenant.');
      const { method, path, body: sentBody } = requestOf(sent);
      const {
        status,
        text: answer,
        body,
      } = await call(method, path, {
        token: owner.clients[sent.role].token,
        body: sentBody,
      });
      const described = `${sent.role} ${method} ${path} ${sentBody}: ${status} ${answer}`;
      expect(status, described).toBeLessThan(500);
      if (status >= 400 && status !== 431)
        expect(Object.keys(Object(body)), described).toEqual(['type', 'code', 'message', 'details', 'request_id']);
      // An error can contain the request, but no response contains the data of others.
      for (const other of owners) {
        if (other === owner) continue;
        if (path.includes(other.id)) expect(status, described).toBeGreaterThanOrEqual(400);
        if (status < 300) expect(JSON.stringify(Object(body).values ?? []), described).not.toContain(other.tenant);
      }
      if (method === 'POST' && sent.role === 'observer') expect(status, described).toBeGreaterThanOrEqual(400);
      if (method === 'GET' && status === 200) {
        const { values, metadata } = Object(body);
        if (values.length > 0) listed.add(owner.tenant);
        if (metadata.next_marker) markers.push(metadata.next_marker);
      }
      if (status === 202) {
        if (Object(body).count > 0) redelivered.add(owner.tenant);
        if (Object(body).next_marker) markers.push(Object(body).next_marker);
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: CONCURRENT, maxLength: CONCURRENT }), async (batch) => {
        await Promise.all(batch.map(check));
      }),
      {
        numRuns: Math.ceil(REQUEST_COUNT / CONCURRENT),
        endOnFailure: true,
        // Generated requests reach the deliveries of both tenants almost always; these do so always.
        examples: [[[0, 1].flatMap(validRequests)]],
      },
    );

    const active = owners.slice(0, OWNERS - 1);
    // Otherwise the property would hold for requests that reach nothing.
    expect([redelivered, listed].map((tenants) => tenants.size)).toEqual([active.length, active.length]);
    expect(await recordsOf(passive)).toEqual(before);
    expect(passive.sink.received).toEqual([]);
    for (const { tenant, sink, clients, id } of active) {
      const { received } = sink;
      await clients.admin.post(`/notifications/${id}/redeliver`, { since: 0 });
      await until(async () => received.length >= EVENT_COUNT || undefined);
      const ownEvents = received.map(({ body }) => payload.parse(JSON.parse(body)));
      expect(ownEvents.map(({ event_id }) => event_id).toSorted()).toEqual(eventIds.toSorted());
      expect(received.every(({ body }) => body.includes(tenant))).toBe(true);
    }
  });
});
