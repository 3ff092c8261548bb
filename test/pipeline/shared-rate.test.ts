import { describe, expect, it } from 'vitest';
import { type AttemptOutcome, type Failure, failed } from '../../shared/domain/attempt-outcome.ts';
import { awsFailure } from '../../shared/domain/aws-outcome.ts';
import { createSharedRate } from '../../shared/pipeline/shared-rate.ts';
import { alert } from '../support/alert.ts';
import { alarmHeader } from '../support/events.ts';

const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };
const throttling = (message: string): Failure => {
  const error = Object.assign(new Error(message), { name: 'Throttling', $fault: 'client' });
  return awsFailure('ses', error);
};
const throttled = throttling('Maximum sending rate exceeded.');

/** Sends on a clock that only waiting moves. `timeLeftMs` is that of the function, at the start. */
const setUp = (timeLeftMs = 30_000) => {
  let nowMs = 1_000_000_000;
  const startMs = nowMs;
  const advance = (ms: number) => {
    nowMs += ms;
  };
  const rate = createSharedRate({ clock: () => nowMs, sleep: async (ms) => advance(ms), random: () => 0.5 });
  /** @returns the last outcome, the number of sends, and how long they took */
  const send = async (tenant: string, outcomes: readonly AttemptOutcome[], notificationId?: string) => {
    const fromMs = nowMs;
    let sends = 0;
    const outcome = await rate.send(
      {
        ...alert,
        event: alarmHeader({ tenant_id: tenant }),
        timeLeft: () => timeLeftMs - (nowMs - startMs),
        ...(notificationId !== undefined && { notificationId }),
      },
      async () => outcomes[Math.min(sends++, outcomes.length - 1)] ?? expect.fail(),
    );
    return { outcome, sends, ms: nowMs - fromMs };
  };
  const sendAlert = (tenant: string, ...outcomes: AttemptOutcome[]) => send(tenant, outcomes, 'nt1');
  return {
    advance,
    isSlow: rate.isSlow,
    sendAlert,
    sendTest: (tenant: string, ...outcomes: AttemptOutcome[]) => send(tenant, outcomes),
    /** Makes a tenant send messages that AWS accepts. */
    use: async (tenant: string, count: number) => {
      for (let sent = 0; sent < count; sent++) await sendAlert(tenant, delivered);
    },
  };
};

describe('a message that AWS throttles', () => {
  it('is sent again in place, with growing delays, if its tenant is below its share', async () => {
    const { use, sendAlert } = setUp();
    await use('busy', 20);
    expect(await sendAlert('quiet', throttled, throttled, throttled, throttled, delivered)).toEqual({
      outcome: delivered,
      sends: 5,
      ms: 100 + 200 + 400 + 400,
    });
  });

  it('is sent again in place, however many its tenant sends, if another one sends more', async () => {
    const { use, sendAlert } = setUp();
    await use('busy', 20);
    await use('quiet', 9);
    expect(await sendAlert('quiet', throttled, delivered)).toMatchObject({ outcome: delivered, sends: 2 });
  });

  it('fails if its tenant has its share, or more', async () => {
    const { use, sendAlert } = setUp();
    await use('quiet', 8);
    await use('busy', 7);
    expect(await sendAlert('busy', throttled, delivered)).toMatchObject({ outcome: throttled, sends: 1 });
  });

  it('fails if only its tenant sends, and this more than a few messages', async () => {
    const { use, sendAlert } = setUp();
    await use('single', 2);
    expect(await sendAlert('single', throttled, delivered)).toMatchObject({ outcome: delivered });
    expect(await sendAlert('single', throttled, delivered)).toMatchObject({ outcome: throttled, sends: 1 });
  });

  it('fails after ten seconds', async () => {
    const { outcome, ms } = await setUp().sendAlert('quiet', throttled);
    expect(outcome).toBe(throttled);
    expect(ms).toBeGreaterThan(9_500);
    expect(ms).toBeLessThanOrEqual(10_000);
  });

  it('fails after five seconds if it is a test, whose result the API awaits', async () => {
    const { outcome, ms } = await setUp().sendTest('quiet', throttled);
    expect(outcome).toBe(throttled);
    expect(ms).toBeLessThanOrEqual(5_000);
  });

  it('fails when a send in place could outlast the function', async () => {
    expect((await setUp(18_000).sendAlert('quiet', throttled)).ms).toBeLessThanOrEqual(1_000);
  });
});

it.each([
  ['that may have been sent', failed('transient', 'network_error', '', { cause: 'service' })],
  ['above the daily quota of AWS', throttling('Daily message quota exceeded.')],
  ['above the daily limit of its tenant', failed('throttled', 'tenant_limit_exceeded', '', { nothingSent: true })],
  ['that is throttled, but may have been sent', { ...throttled, nothingSent: false }],
])('a message %s is not sent again in place', async (_, failure) => {
  const { sendAlert, isSlow } = setUp();
  expect(await sendAlert('quiet', failure, delivered)).toEqual({ outcome: failure, sends: 1, ms: 0 });
  expect(isSlow('quiet')).toBe(false);
});

describe('a tenant is slow', () => {
  it('while AWS throttles and it is above its share, and until ten seconds later', async () => {
    const { advance, use, sendAlert, isSlow } = setUp();
    await use('busy', 20);
    await use('quiet', 1);
    expect(isSlow('busy')).toBe(false);
    await sendAlert('busy', throttled);
    expect([isSlow('busy'), isSlow('quiet'), isSlow('unknown')]).toEqual([true, false, false]);
    advance(9_999);
    await use('busy', 20);
    expect(isSlow('busy')).toBe(true);
    advance(1);
    await use('busy', 20);
    expect(isSlow('busy')).toBe(false);
  });

  it('also if this execution environment knows no other one', async () => {
    const { use, sendAlert, isSlow } = setUp();
    await use('single', 3);
    await sendAlert('single', throttled);
    expect(isSlow('single')).toBe(false);
    await sendAlert('single', throttled);
    expect(isSlow('single')).toBe(true);
  });

  it('not because of what it sent before the other one sent many at once', async () => {
    const { advance, use, sendAlert, isSlow } = setUp();
    await use('quiet', 20);
    advance(4_000);
    await use('busy', 10);
    await sendAlert('busy', throttled);
    expect(await sendAlert('quiet', throttled, delivered)).toMatchObject({ outcome: delivered, sends: 2 });
    expect(isSlow('quiet')).toBe(false);
  });
});
