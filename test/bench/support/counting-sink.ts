import * as z from 'zod';
import { childOptions, serveAsChild } from './child.ts';

/*
 * A receiver of webhooks in a process of its own: it counts, and answers 200 after a delay (ms). It takes Alertmanager's
 * batches, too: `alerts` are those inside.
 */

const { delay } = childOptions(z.object({ delay: z.number().default(0) }));

/** What each type takes for yes. */
const ANSWER = JSON.stringify({ result: 'success', status: 'success' });

serveAsChild((count) => (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    count('requests');
    count(
      'bytes',
      parts.reduce((sum, part) => sum + part.length, 0),
    );
    if (delay > 0) setTimeout(() => response.end(ANSWER), delay);
    else response.end(ANSWER);
  });
});
