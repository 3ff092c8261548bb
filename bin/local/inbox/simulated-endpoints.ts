import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { SimulatedKind } from './message.ts';
import { sendJson } from './respond.ts';

/** A receiver that the inbox simulates, always with its success response. */
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
      respond: (response, body) =>
        sendJson(response, 200, {
          status: 'success',
          message: 'Event processed',
          incident_key: textField(body, 'incident_key') ?? crypto.randomUUID(),
        }),
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

const jsonObject = z.record(z.string(), z.unknown());

const textField = (body: string, name: string): string | undefined => {
  try {
    const value = jsonObject.parse(JSON.parse(body))[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};
