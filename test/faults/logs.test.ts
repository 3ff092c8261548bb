import { describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { closedPort } from '../support/servers.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const stored: string[] = [];
const harness = useFaultyStack({}, { rawLog: (line, name) => stored.push(`${name} ${line}`) });

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

describe('the log of a delivery', () => {
  it('is one line of dispatch and one of the sender, each at most 280 bytes', async () => {
    const client = await harness.newClient();
    const sink = await openSink();
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    const before = stored.length;
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(() => sink.received.length === 1);
    const lines = await until(() => stored.length - before >= 2 && stored.slice(before));
    expect(lines).toEqual([
      expect.stringMatching(/^Delivery-dispatch-alarm-events \{"_aws":.*"dispatch_latency":\d+\}$/),
      expect.stringMatching(/^Delivery-send-webhook \{"_aws":.*"delivery_latency":\d+\}$/),
    ]);
    for (const line of lines) expect(Buffer.byteLength(line.slice(line.indexOf('{')))).toBeLessThanOrEqual(280);
  });
});
