import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { closedPort } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

describe('the log of a delivery that fails', () => {
  let world: FaultyStack;
  beforeAll(async () => {
    world = await startFaultyStack();
  });
  afterAll(() => world.stack.stop());

  it('has the code of a connection that failed, by which operators tell a refusal from a name or a certificate', async () => {
    const client = await world.newClient();
    const url = `http://127.0.0.1:${await closedPort()}`;
    const id = await client.create({ label: 'w', type: 'webhook', details: { url } });
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    const line = await until(async () =>
      world.lines.find((one) => one.includes('WARN delivery failed') && one.includes(id)),
    );
    expect(line).toMatch(/ reason=network .*code=ECONNREFUSED( |$)/);
  });
});
