import { Match } from 'aws-cdk-lib/assertions';
import { filterCriteria, passesFilters } from 'local-aws/lambda/event-filter.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { emailReportKinds } from '../../shared/contracts/delivery-record.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { changeOf } from '../../shared/domain/delivery-change.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';
import { allSettings } from '../support/settings.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';
import { streamRecord } from '../support/stream-records.ts';

const STREAM = 'arn:aws:dynamodb:eu-west-1:111111111111:table/restored/stream/2026-01-01T00:00:00.000';

const filtersOf = (settings: Record<string, unknown>) => {
  const mappings = propertiesOf(
    synthesize(settings).template,
    'AWS::Lambda::EventSourceMapping',
    z.object({ FilterCriteria: filterCriteria.optional() }),
  );
  return [...mappings.values()].flatMap(({ FilterCriteria }) => FilterCriteria ?? [])[0];
};

it('the stream of deliveries is watched with any settings, for twelve hours', () => {
  for (const settings of [{}, allSettings]) {
    const { template } = synthesize(settings);
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
    });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      MaximumBatchingWindowInSeconds: 1,
      ParallelizationFactor: 10,
      BisectBatchOnFunctionError: true,
      MaximumRecordAgeInSeconds: 43_200,
      MaximumRetryAttempts: Match.absent(),
      DestinationConfig: {
        OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('^ReportsFailed'), 'Arn'] } },
      },
    });
  }
});

it('a table that the stack does not manage is watched by the ARN of its stream', () => {
  const { template } = synthesize({ existingTables: `Deliveries=${STREAM}` });
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { EventSourceArn: STREAM });
  template.hasOutput('DeliveriesTable', { Value: 'restored' });
});

describe('the filter of the stream', () => {
  const recordOf = (changes: Partial<DeliveryRecord>) =>
    deliveryRecord({ tenant: 'acme', id: 'nt00000000000000000000OUTCOME' }, 'event', changes);
  const states: Partial<DeliveryRecord>[] = [
    ...deliveryStatuses.map((status) => ({ status })),
    { status: 'summarized', last_reason: 'tenant_limit_exceeded' },
    ...(['delivered', 'superseded', 'summarized'] as const).map((status) => ({
      status,
      last_failed_at_ms: RECORD_TIME_MS,
    })),
    { status: 'cancelled', withheld: 'shadow' },
    ...emailReportKinds.map((email_report) => ({ status: 'delivered', email_report }) as const),
    { status: 'bounced', email_report: 'bounce' },
    ...[60_000, 3_600_000].flatMap((waitMs) =>
      (['destination', 'service'] as const).map(
        (last_cause): Partial<DeliveryRecord> => ({
          status: 'pending',
          last_cause,
          next_attempt_at_ms: RECORD_TIME_MS + waitMs,
        }),
      ),
    ),
  ];
  const pairs = states.flatMap((before) => states.map((after) => [before, after] as const));
  // What has ended is only changed by reports of SES. They come before a status `bounced`.
  const isWritten = ([before, after]: (typeof pairs)[number]) =>
    after.email_report !== undefined || (before.status === 'pending' && after.status !== 'bounced');

  it.each([
    ['without outcomes', {}, false],
    ['with outcomes', { deliveryOutcomes: 'true' }, true],
  ])('passes each write that means something, %s', (_, settings, hasOutcomes) => {
    const filters = filtersOf(settings);
    const passes = ([before, after]: (typeof pairs)[number]) =>
      filters !== undefined && passesFilters(filters, streamRecord(recordOf(before), recordOf(after)));
    const changed = pairs.filter(isWritten).filter(([before, after]) => {
      const change = changeOf(recordOf(before), recordOf(after), 1);
      return change?.happened ?? change?.failure ?? (hasOutcomes && change?.outcome);
    });
    expect(changed.length).toBeGreaterThan(20);
    expect(changed.filter((pair) => !passes(pair))).toEqual([]);
    // Claims, of first attempts and of retries.
    const claimed = { status: 'pending', lease_until_ms: RECORD_TIME_MS } as const;
    expect(passes([{ status: 'pending' }, claimed])).toBe(false);
    expect(
      passes([
        { status: 'pending', last_cause: 'destination' },
        { ...claimed, last_cause: 'destination' },
      ]),
    ).toBe(false);
    expect(passes([{ status: 'pending' }, { status: 'delivered' }])).toBe(hasOutcomes);
  });
});
