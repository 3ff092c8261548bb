import { describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { isLocal, newClient, webhook } from './support/api.ts';
import { delivery, sendEvents } from './support/pipeline.ts';

describe.runIf(isLocal)('the history of an alert', () => {
  it('shows why it has not arrived, and neither a bad destination nor, to observers, its response', async () => {
    const client = await newClient();
    const observer = await newClient('observer', client.tenant);
    const sink = await openSink((response) => response.writeHead(410).end('It is gone'));
    const id = await client.create({ ...webhook, details: { url: `${sink.url}/secret-path` } });
    await sendEvents([newAlarmEvent(client.tenant, [id])]);
    await delivery(client.tenant, id, 'failed');
    const path = `/notifications/${id}/deliveries?status=failed&limit=7`;
    const [full, observed] = [await client.get(path), await observer.get(path)];
    expect(full.body).toMatchObject({
      metadata: { count: 1, limit: 7, next_marker: null },
      values: [
        {
          status: 'failed',
          reason: 'http_status',
          attempts: [{ response_text: 'It is gone' }],
          next_attempt_at: null,
        },
      ],
    });
    expect(full.text).not.toContain('secret');
    expect(observed.text).not.toContain('It is gone');
    expect(observed.body).toMatchObject({ values: [{ attempts: [{ status_code: 410 }] }] });
  });
});
