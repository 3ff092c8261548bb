import { describe, expect, it } from 'vitest';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { deliveryCounts, deliveryTotal, destinationField, hasTotal } from '../../shared/domain/delivery-metrics.ts';

const destination = { cause: 'destination' } as const;
const service = { cause: 'service' } as const;
const uncounted = { ...service, countsAsAttempt: false };
const attempt = (...failure: Parameters<typeof failed>) => ({ attempt: failed(...failure) });

describe('the metrics of a message', () => {
  it.each([
    ['an attempt that delivered', { attempt: { result: 'delivered', explanation: '' } as const }, []],
    [
      'a failure of the destination',
      attempt('transient', 'http_status', '', { status: 500 }),
      ['destination_failures'],
    ],
    [
      'a last failure of the destination',
      { ...attempt('permanent', 'http_status', ''), ...destination },
      ['destination_failures', 'dead_lettered_destination'],
    ],
    [
      'a last one of the service',
      { ...attempt('permanent', 'no_feed_configured', '', service), ...service },
      ['dead_lettered_service'],
    ],
    ['a daily limit', attempt('permanent', 'tenant_limit_exceeded', ''), ['tenant_limit_exceeded']],
    ['a misconfigured sender', attempt('transient', 'sender_misconfigured', '', service), ['service_failures']],
    ['a throttled AWS account', attempt('throttled', 'throttled', '', uncounted), ['service_failures']],
    ['a quota of the AWS account', attempt('throttled', 'aws_quota_exceeded', '', uncounted), ['service_failures']],
    [
      'a destination that throttles',
      attempt('throttled', 'http_status', '', { status: 429 }),
      ['destination_failures'],
    ],
    ['an open circuit', attempt('throttled', 'circuit_open', '', { countsAsAttempt: false }), []],
    ['an account without contacts', attempt('permanent', 'no_contacts', ''), []],
    ['a recipient who opted out', attempt('permanent', 'opted_out', ''), []],
    ['a failed call to AWS', attempt('transient', 'rejected', '', service), ['service_failures']],
    ['an event superseded because of its timestamp', { hasOlderTimestamp: true }, ['older_timestamp']],
    ['a message without an attempt', {}, []],
  ])('count %s', (_, result, counts) => {
    expect(deliveryCounts(result)).toEqual(counts);
  });
});

describe('a failed delivery in logs', () => {
  it.each(['http_status', 'timeout'] as const)('called its destination: %s', (reason) => {
    expect(destinationField(reason)).toBe('called');
  });

  it.each(['opted_out', 'bounced', 'tenant_limit_exceeded', 'circuit_open', 'attempts_exhausted', 'expired'] as const)(
    'did not call its destination: %s',
    (reason) => {
      expect(destinationField(reason)).toBe('not_called');
    },
  );
});

describe('the totals of deliveries', () => {
  it.each([
    ['delivered', false, 'deliveries_delivered'],
    ['unrecorded', false, 'deliveries_delivered'],
    ['dead_lettered', false, 'deliveries_failed'],
    ['superseded', false, 'deliveries_superseded'],
    ['cancelled', false, 'deliveries_cancelled'],
    ['retried', false, undefined],
    ['duplicate', true, 'deliveries_repeated'],
    ['conflict', true, 'deliveries_repeated'],
    ['duplicate', false, undefined],
  ] as const)('count a message with the result %s (repeated: %s) in %s', (kind, isRepeated, total) => {
    expect(deliveryTotal({ kind, isRepeated })).toBe(total);
  });
});

it('have a total over all types only if an alarm reads it', () => {
  expect(['internal_errors', 'delivery_latency'].map(hasTotal)).toEqual([true, true]);
  expect(['retried', 'destination_failures', 'toString'].map(hasTotal)).toEqual([false, false, false]);
});
