import { describe, expect, it } from 'vitest';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { newAlarmEvent } from '../support/events.ts';
import { until } from '../support/until.ts';
import { throttled, useFaultyStack } from './support.ts';

const harness = useFaultyStack();

describe('technical contacts, some of which cannot be reached', () => {
  const newAccount = async (...names: string[]) => {
    const client = await harness.newClient();
    const addresses = names.map((name) => `${name}-${client.tenant.toLowerCase()}@example.com`);
    await client.put('/account', { technical_contacts: addresses });
    return { tenant: client.tenant, addresses };
  };
  const emailCount = async (address: string): Promise<number> =>
    (await harness.inbox()).filter((sent) => sent.kind === 'email' && sent.to.includes(address)).length;
  const isAddressedTo = (address: string, body: Buffer) => body.includes(encodeURIComponent(address));
  const sendEvent = (tenant: string) => harness.sendEvents([newAlarmEvent(tenant, [DEFAULT_NOTIFICATION_ID])]);

  it('each receive one email if DynamoDB throttles every write for four seconds after a partial success', async () => {
    const { tenant, addresses } = await newAccount('reached', 'later');
    const [reached = '', later = ''] = addresses;
    let throttledUntilMs = 0;
    const recover = harness.injectFault(throttled, ({ service, caller, action }) => {
      const isWrite =
        service === 'dynamodb' && caller.includes('send-technical') && /Put|Update|BatchWrite/.test(action);
      return isWrite && Date.now() < throttledUntilMs;
    });
    let attempts = 0;
    const acceptEmail = harness.injectFault(
      { status: 400, type: 'Throttling', message: 'Maximum sending rate exceeded.' },
      (call) => {
        if (call.service !== 'ses' || !isAddressedTo(later, call.body)) return false;
        if (attempts++ === 0) throttledUntilMs = Date.now() + 4_000;
        return attempts === 1;
      },
    );
    await sendEvent(tenant);
    await harness.advanceUntil(harness.delivery(tenant, DEFAULT_NOTIFICATION_ID, 'delivered'));
    recover();
    acceptEmail();
    expect([await emailCount(reached), await emailCount(later)]).toEqual([1, 1]);
  });

  it.each([
    ['the first', 0],
    ['the second', 1],
  ])(
    'are retried if one fails permanently and the other temporarily: %s fails permanently',
    async (_, permanentIndex) => {
      const { tenant, addresses } = await newAccount('first', 'second');
      const [rejected = '', unavailable = ''] = permanentIndex === 0 ? addresses : addresses.toReversed();
      let attempts = 0;
      const acceptRejected = harness.injectFault(
        { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
        (call) => call.service === 'ses' && isAddressedTo(rejected, call.body),
      );
      const acceptEmail = harness.injectFault(
        { status: 500, type: 'InternalFailure', message: '' },
        (call) => call.service === 'ses' && isAddressedTo(unavailable, call.body) && ++attempts <= 2,
      );
      await sendEvent(tenant);
      await harness.advanceUntil(until(async () => ((await emailCount(unavailable)) > 0 ? true : undefined)));
      const deadLetter = await harness.advanceUntil(
        harness.deadLetter('technicalContactsEmail', (body) => body.includes(tenant)),
      );
      acceptRejected();
      acceptEmail();
      // The third attempt reaches the second contact; only the permanent failure is left, so the delivery is
      // dead-lettered.
      expect(deadLetter.attributes).toMatchObject({ reason: 'rejected', cause: 'destination', attempts: '3' });
      expect([await emailCount(rejected), await emailCount(unavailable)]).toEqual([0, 1]);
    },
  );
});
