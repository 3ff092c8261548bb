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

/** The simulated receivers, by the first segment of their path. */
export const simulatedEndpoints = new Map<string, SimulatedEndpoint>([
  [
    'pager',
    {
      kind: 'incidentpager',
      respond: (response, body) => {
        const { data: event, error } = pagerEventV1.safeParse(jsonOrUndefined(body));
        if (event) {
          sendJson(response, 200, { status: 'success', message: 'Event processed', incident_key: event.incident_key });
        } else {
          rejectEvent(
            response,
            error.issues.map(({ message }) => message),
          );
        }
      },
    },
  ],
  [
    'v2',
    {
      kind: 'incidentpager',
      respond: (response, body) => {
        const { data: event, error } = pagerEventV2.safeParse(jsonOrUndefined(body));
        if (event) {
          sendJson(response, 202, { status: 'success', message: 'Event processed', dedup_key: event.dedup_key });
        } else {
          const describe = ({ path, message }: z.core.$ZodIssue) =>
            path[0] === 'routing_key' ? message : `'${path.join('.')}' ${message}`;
          rejectEvent(response, error.issues.map(describe));
        }
      },
    },
  ],
  [
    'router',
    {
      kind: 'incidentrouter',
      respond: (response, body) =>
        sendJson(response, 200, { result: 'success', entity_id: textField(body, 'entity_id') ?? crypto.randomUUID() }),
    },
  ],
  [
    'feed',
    {
      kind: 'atomfeed',
      respond: (response, body) =>
        response
          .writeHead(201, {
            location: `/feed/${crypto.randomUUID()}`,
            'content-type': 'application/atom+xml;type=entry;charset=utf-8',
          })
          .end(body),
    },
  ],
]);

const rejectEvent = (response: ServerResponse, errors: string[]): void =>
  sendJson(response, 400, { status: 'invalid event', message: 'Event object is invalid', errors });

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

const jsonObject = z.record(z.string(), z.unknown());

const textField = (body: string, name: string): string | undefined => {
  const value = jsonObject.safeParse(jsonOrUndefined(body)).data?.[name];
  return typeof value === 'string' ? value : undefined;
};

/** Ends a response with JSON. */
export const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
