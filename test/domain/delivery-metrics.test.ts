import { describe, expect, it } from 'vitest';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { deliveryCounts, deliveryLatency } from '../../shared/domain/delivery-metrics.ts';

const service = { cause: 'service' } as const;

describe('what is counted of a settled message', () => {
  it.each([
    [
      'an attempt that delivered',
      { attemptOutcome: { result: 'delivered', explanation: '' } as const },
      ['destination_attempts'],
    ],
    [
      'an attempt that the destination failed',
      { attemptOutcome: failed('transient', 'http_status', '', { status: 500 }) },
      ['destination_attempts', 'destination_failures'],
    ],
    [
      'the last of them',
      { attemptOutcome: failed('permanent', 'http_status', ''), cause: 'destination' as const },
      ['destination_attempts', 'destination_failures', 'dead_lettered_destination'],
    ],
    [
      'a fault of ours that ends it',
      { attemptOutcome: failed('permanent', 'no_feed_configured', '', service), ...service },
      ['dead_lettered_service'],
    ],
    [
      'a tenant over its limit',
      { attemptOutcome: failed('permanent', 'tenant_limit_exceeded', '') },
      ['tenant_limit_exceeded'],
    ],
    [
      'what operators have to set right',
      { attemptOutcome: failed('transient', 'sender_misconfigured', '', service) },
      ['misconfigured', 'service_failures'],
    ],
    [
      'the rate of our own account',
      { attemptOutcome: failed('throttled', 'throttled', '', { ...service, countsAsAttempt: false }) },
      ['service_failures'],
    ],
    [
      'the daily quota of our own account',
      { attemptOutcome: failed('throttled', 'aws_quota_exceeded', '', { ...service, countsAsAttempt: false }) },
      ['aws_quota_exceeded'],
    ],
    ['a notice that could not be queued', { noticeLost: true }, ['notices_not_queued']],
    [
      'a destination that asks for less',
      { attemptOutcome: failed('throttled', 'http_status', '', { status: 429 }) },
      ['destination_attempts', 'destination_failures'],
    ],
    [
      'an origin that was not dialled',
      { attemptOutcome: failed('throttled', 'circuit_open', '', { countsAsAttempt: false }) },
      [],
    ],
    ['an account without contacts', { attemptOutcome: failed('permanent', 'no_contacts', '') }, []],
    [
      'a service of AWS that failed',
      { attemptOutcome: failed('transient', 'rejected', '', service) },
      ['service_failures'],
    ],
    ['a message that was not tried', {}, []],
  ])('is as it says: %s', (_, settlement, counts) => {
    expect(deliveryCounts(settlement)).toEqual(counts);
  });
});

describe('the latency of a delivery', () => {
  it('begins when its message came on the queue', () => {
    expect(deliveryLatency(1_500, 1_000, 1_700)).toBe(700);
  });

  it('begins with its round, where the message is a retry', () => {
    expect(deliveryLatency(1_000, 31_000, 31_200)).toBe(30_200);
  });

  it('is never below 0, whatever the clocks say', () => {
    expect(deliveryLatency(2_000, 2_000, 1_000)).toBe(0);
  });
});
