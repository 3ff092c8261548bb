import { randomBytes } from 'node:crypto';
import { serveAsChild } from './child.ts';

/*
 * A receiver of webhooks in its own process. It counts requests and bytes, and responds with 200, or at `/fail` with
 * 500 and 64 KB of text.
 */

/** A body that every notification type accepts as success. */
const SUCCESS = JSON.stringify({ result: 'success', status: 'success' });

const LONG_TEXT = randomBytes(48 * 1024).toString('base64');

serveAsChild((count) => (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    count('requests');
    count(
      'bytes',
      parts.reduce((sum, part) => sum + part.length, 0),
    );
    if (request.url === '/fail') response.writeHead(500).end(LONG_TEXT);
    else response.end(SUCCESS);
  });
});
