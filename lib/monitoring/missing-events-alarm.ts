import { Duration } from 'aws-cdk-lib';
import { MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { EVENTS_RECEIVED } from '../../shared/domain/delivery-metrics.ts';
import type { AddAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/** The evaluation periods last a minute each, so the longest interval is a day, the maximum of CloudWatch. */
const period = Duration.minutes(1);

/** Adds the alarm on a pipeline that sends no alarm events, if the setting says how often it does at least. */
export const missingEventsAlarm = (
  addAlarm: AddAlarm,
  metrics: ServiceMetrics,
  { expectedEventIntervalMinutes: minutes }: { expectedEventIntervalMinutes?: number | undefined },
): void => {
  if (minutes === undefined) return;
  addAlarm('MissingEvents', {
    metric: new MathExpression({
      expression: 'IF(FILL(events, 0) >= 1, 0, 1)',
      usingMetrics: { events: metrics.count(EVENTS_RECEIVED, { period }) },
      period,
      label: 'minutes without an alarm event',
    }),
    threshold: 1,
    evaluationPeriods: minutes,
    // Without any event in the whole time, there is nothing to fill.
    treatMissingData: TreatMissingData.BREACHING,
    impact: `Dispatch has received no alarm event for ${minutes} minutes. If its pipeline has failed, nobody is alerted.`,
    firstStep: 'check whether the pipeline runs and is allowed to send to the queue of alarm events.',
    runbook: 'no-alarm-events',
  });
};
