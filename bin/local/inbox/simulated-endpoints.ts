import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { jsonOrUndefined } from '../../../shared/contracts/json.ts';
import type { SimulatedKind } from './message.ts';

/**
 * A receiver that the inbox simulates. The pagers reject what PagerDuty rejects (`/pager` only keys, which are all of
 * an event that tenants choose); the others accept everything.
 */
export type SimulatedEndpoint = {
  kind: SimulatedKind;
  respond(response: ServerResponse, body: string): void;
};

const KEY_LENGTH = 32;
const BLANK = "Service key can't be blank";

/** What PagerDuty Events API v1 responds about keys. */
const pagerEventV1 = z.looseObject({
  service_key: z
    .string(BLANK)
    .min(1, { error: BLANK, abort: true })
    .length(KEY_LENGTH, `Service key is the wrong length (should be ${KEY_LENGTH} characters)`),
  incident_key: z.string().default(() => crypto.randomUUID()),
});

const routingKey = z
  .string("'routing_key' is missing or blank")
  .length(KEY_LENGTH, `Length of 'routing_key' is incorrect (should be ${KEY_LENGTH} characters)`)
  .regex(/^[a-zA-Z0-9]*$/, "'routing_key' cannot contain non-alphanumeric characters.");

/** Lengths are in UTF-16 units, where zod counts code points. */
const text = (maxLength: number) =>
  z
    .string()
    .min(1)
    .refine(({ length }) => length <= maxLength, `must have at most ${maxLength} characters`);

const dedupKey = text(255);

/** The published rules of PagerDuty Events API v2 for alert events. */
const pagerEventV2 = z.discriminatedUnion('event_action', [
  z.looseObject({
    routing_key: routingKey,
    event_action: z.literal('trigger'),
    dedup_key: dedupKey.default(() => crypto.randomUUID()),
    payload: z.looseObject({
      summary: text(1_024),
      source: z.string().min(1),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      timestamp: z.iso.datetime({ offset: true }).optional(),
    }),
  }),
  z.looseObject({
    routing_key: routingKey,
    event_action: z.enum(['acknowledge', 'resolve']),
    dedup_key: dedupKey,
  }),
]);

/** A pager that accepts the events of a schema with a status, and rejects others like PagerDuty. */
const pager = <Event>(schema: z.ZodType<Event>, status: number, key: (event: Event) => object): SimulatedEndpoint => ({
  kind: 'incidentpager',
  respond(response, body) {
    const { success, data, error } = schema.safeParse(jsonOrUndefined(body));
    if (success) return sendJson(response, status, { status: 'success', message: 'Event processed', ...key(data) });
    const errors = error.issues.map(({ path: [first, ...rest], message }) =>
      first === 'routing_key' || first === 'service_key' ? message : `'${[first, ...rest].join('.')}' ${message}`,
    );
    sendJson(response, 400, { status: 'invalid event', message: 'Event object is invalid', errors });
  },
});

const router: SimulatedEndpoint = {
  kind: 'incidentrouter',
  respond: (response, body) =>
    sendJson(response, 200, { result: 'success', entity_id: textField(body, 'entity_id') ?? crypto.randomUUID() }),
};

const feed: SimulatedEndpoint = {
  kind: 'atomfeed',
  respond(response, body) {
    const headers = { 'content-type': 'application/atom+xml;type=entry;charset=utf-8' };
    response.writeHead(201, { location: `/feed/${crypto.randomUUID()}`, ...headers }).end(body);
  },
};

/** The simulated receivers, by the first segment of their path. */
export const simulatedEndpoints = new Map<string, SimulatedEndpoint>([
  ['pager', pager(pagerEventV1, 200, ({ incident_key }) => ({ incident_key }))],
  ['v2', pager(pagerEventV2, 202, ({ dedup_key }) => ({ dedup_key }))],
  ['router', router],
  ['feed', feed],
]);

const jsonObject = z.record(z.string(), z.unknown());

const textField = (body: string, name: string): string | undefined => {
  const value = jsonObject.safeParse(jsonOrUndefined(body)).data?.[name];
  return typeof value === 'string' ? value : undefined;
};

export const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
