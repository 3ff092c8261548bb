import type { ServerResponse } from 'node:http';

/** Ends a response with JSON. */
export const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
