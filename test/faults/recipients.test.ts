import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack, throttled } from './support.ts';

const DEFAULT_NOTIFICATION = 'ntTechnicalContactsEmail';

describe('technical contacts of whom some cannot be reached', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
  });
  afterAll(() => world.stack.stop());

  const contacts = async (...names: string[]) => {
    client = await world.newClient();
    const addresses = names.map((name) => `${name}-${client.tenant.toLowerCase()}@example.com`);
    const accounts = createAccountRepository(world.documents, world.table('Accounts'));
    await accounts.setTechnicalContacts(client.tenant, addresses);
    return addresses;
  };
  const emailsTo = async (address: string): Promise<number> =>
    (await world.inbox()).filter((one) => one.kind === 'email' && one.to.includes(address)).length;
  const isTo = (address: string, body: Buffer) => body.includes(encodeURIComponent(address));
  const sendEvent = () => world.sendEvents([newAlarmEvent(client.tenant, [DEFAULT_NOTIFICATION])]);

  it('are each emailed once although DynamoDB refuses every write for four seconds after a mixed result', async () => {
    const [reached = '', later = ''] = await contacts('reached', 'later');
    let refusesUntil = 0;
    const recover = world.failing(throttled, ({ service, caller, action }) => {
      const isWrite =
        service === 'dynamodb' && caller.includes('send-technical') && /Put|Update|BatchWrite/.test(action);
      return isWrite && Date.now() < refusesUntil;
    });
    let attempts = 0;
    const allow = world.failing(
      { status: 400, type: 'Throttling', message: 'Maximum sending rate exceeded.' },
      (call) => {
        if (call.service !== 'ses' || !isTo(later, call.body)) return false;
        if (attempts++ === 0) refusesUntil = Date.now() + 4_000;
        return attempts === 1;
      },
    );
    await sendEvent();
    await world.hurried(world.delivery(client.tenant, DEFAULT_NOTIFICATION, 'delivered'));
    recover();
    allow();
    expect([await emailsTo(reached), await emailsTo(later)]).toEqual([1, 1]);
  });

  it.each([
    ['the first', 0],
    ['the second', 1],
  ])('are tried again where one is refused for good and the other for now: %s for good', async (_, permanent) => {
    const addresses = await contacts('one', 'other');
    const [refused = '', busy = ''] = permanent === 0 ? addresses : addresses.toReversed();
    let attempts = 0;
    const reject = world.failing(
      { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
      (call) => call.service === 'ses' && isTo(refused, call.body),
    );
    const allow = world.failing(
      { status: 500, type: 'InternalFailure', message: '' },
      (call) => call.service === 'ses' && isTo(busy, call.body) && ++attempts <= 2,
    );
    await sendEvent();
    await world.hurried(until(async () => ((await emailsTo(busy)) > 0 ? true : undefined)));
    const dead = await world.hurried(
      world.deadLetter('technicalContactsEmail', (body) => body.includes(client.tenant)),
    );
    reject();
    allow();
    // The one that can be reached is, on the third attempt; the other one is why the delivery is given up then.
    expect(dead.attributes).toMatchObject({ reason: 'rejected', cause: 'destination', attempts: '3' });
    expect([await emailsTo(refused), await emailsTo(busy)]).toEqual([0, 1]);
  });
});
