import { Match } from 'aws-cdk-lib/assertions';
import { filterCriteria, passesFilters } from 'local-aws/lambda/event-filter.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { outcomeOf } from '../../shared/domain/delivery-outcome.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';
import { allSettings } from '../support/settings.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';
import { streamRecord } from '../support/stream-records.ts';

const { template } = synthesize(allSettings);

const mappings = propertiesOf(
  template,
  'AWS::Lambda::EventSourceMapping',
  z.object({ FilterCriteria: filterCriteria.optional() }),
);
const [filters] = [...mappings.values()].flatMap(({ FilterCriteria }) => FilterCriteria ?? []);

it('the stream of deliveries exists only with the setting deliveryOutcomes', () => {
  const streamsOf = (settings: Record<string, unknown>) =>
    Object.keys(
      synthesize(settings).template.findResources('AWS::DynamoDB::Table', {
        Properties: { StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' } },
      }),
    );
  expect([streamsOf({}), streamsOf(allSettings)]).toEqual([[], [expect.stringMatching(/^StorageDeliveries/)]]);
});

it('records that cannot be published for an hour are given up, and a queue gets their places', () => {
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    StartingPosition: 'TRIM_HORIZON',
    BisectBatchOnFunctionError: true,
    MaximumRecordAgeInSeconds: 3_600,
    MaximumRetryAttempts: Match.absent(),
    DestinationConfig: {
      OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('^OutcomesFailed'), 'Arn'] } },
    },
  });
});

describe('the filter of the stream', () => {
  const recordOf = (changes: Partial<DeliveryRecord>) =>
    deliveryRecord({ tenant: 'acme', notificationId: 'nt00000000000000000000OUTCOME' }, 'event', changes);
  const states: Partial<DeliveryRecord>[] = [
    ...deliveryStatuses.map((status) => ({ status })),
    { status: 'failed', reported_status: 'failed' },
    ...[0, RECORD_TIME_MS].flatMap((lease_until_ms) =>
      [60_000, 3_600_000].flatMap((waitMs) =>
        (['destination', 'service'] as const).map(
          (last_cause): Partial<DeliveryRecord> => ({
            status: 'pending',
            last_cause,
            lease_until_ms,
            next_attempt_at_ms: RECORD_TIME_MS + waitMs,
          }),
        ),
      ),
    ),
  ];

  it('passes each write that changes an outcome, and neither claims nor reports nor notices', () => {
    const passes = (before: Partial<DeliveryRecord>, after: Partial<DeliveryRecord>) =>
      filters !== undefined && passesFilters(filters, streamRecord(recordOf(before), recordOf(after)));
    const pairs = states.flatMap((before) => states.map((after) => [before, after] as const));
    // An attempt ends the lease of its claim. No write changes a status from one end to another, except to `bounced`.
    const isWritten = ([before, after]: (typeof pairs)[number]) =>
      after.status === 'pending'
        ? before.status === 'pending' && after.lease_until_ms === 0
        : before.status === 'pending' || after.status === 'bounced' || before.status === after.status;
    const changed = pairs
      .filter(isWritten)
      .filter(([before, after]) => outcomeOf(recordOf(before), recordOf(after), 1) !== undefined);
    expect(changed.length).toBeGreaterThan(20);
    expect(changed.filter(([before, after]) => !passes(before, after))).toEqual([]);
    const reported = { status: 'failed', reported_status: 'failed' } as const;
    expect(passes({ status: 'failed' }, reported)).toBe(false);
    expect(passes({ status: 'pending' }, { status: 'pending', lease_until_ms: RECORD_TIME_MS })).toBe(false);
    expect(passes({ status: 'pending', notice: 'failing' }, { status: 'delivered', notice: 'failing' })).toBe(false);
  });
});
