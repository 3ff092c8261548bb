import { describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { closedPort } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack();

describe('the log of a failed delivery', () => {
  it('contains the error code of the connection', async () => {
    const client = await harness.newClient();
    const url = `http://127.0.0.1:${await closedPort()}`;
    const id = await client.create({ label: 'w', type: 'webhook', details: { url } });
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    const line = await until(async () =>
      harness.lines.find((text) => text.includes('WARN delivery failed') && text.includes(id)),
    );
    expect(line).toMatch(/ reason=network_error .*code=ECONNREFUSED( |$)/);
  });
});
