import type { IncomingHttpHeaders } from 'node:http';
import { serveAsChild } from './child.ts';

/*
 * A receiver of webhooks in its own process. It counts requests and bytes, and responds with 200, or at `/echo` with
 * 500 and the values of the headers that a notification sets.
 */

/** A body that every notification type accepts as success. */
const SUCCESS = JSON.stringify({ result: 'success', status: 'success' });

const secretsIn = (headers: IncomingHttpHeaders): string =>
  Object.entries(headers)
    .filter(([name]) => name.startsWith('x-secret-'))
    .map(([, value]) => value)
    .join('');

serveAsChild((count) => (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    count('requests');
    count(
      'bytes',
      parts.reduce((sum, part) => sum + part.length, 0),
    );
    if (request.url === '/echo') response.writeHead(500).end(secretsIn(request.headers));
    else response.end(SUCCESS);
  });
});
