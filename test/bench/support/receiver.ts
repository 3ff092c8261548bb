import { serveAsChild } from './child.ts';

/* A receiver of webhooks in its own process. It counts requests and bytes, and responds with 200. */

/** A body that every notification type accepts as success. */
const SUCCESS = JSON.stringify({ result: 'success', status: 'success' });

serveAsChild((count) => (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    count('requests');
    count(
      'bytes',
      parts.reduce((sum, part) => sum + part.length, 0),
    );
    response.end(SUCCESS);
  });
});
