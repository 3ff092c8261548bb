import { type MetricIdentity, MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import type { AlarmDefinition } from './alarm-definition.ts';
import type { DataPoint } from './metric-math.ts';

/** The states of a metric alarm. No alarm has a state of insufficient data. */
export type AlarmState = 'OK' | 'ALARM';

/** The data that alarms evaluate. */
export type AlarmData = {
  statistic(metric: MetricIdentity, statistic: string, startMs: number, endMs: number): DataPoint;
  insightRule(ruleName: string, metric: string, startMs: number, endMs: number): DataPoint;
};

/**
 * CloudWatch evaluates more data points than the evaluation periods, to account for late or sparse data. AWS does not
 * document how many more; the examples in its documentation have two more.
 */
const EXTRA_PERIODS = 2;

/**
 * Returns the data points of an alarm, oldest first. The last period ends with the last whole minute before `nowMs`.
 */
export const dataPoints = (definition: AlarmDefinition, data: AlarmData, nowMs: number): DataPoint[] => {
  const lastEndMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: definition.evaluationPeriods + EXTRA_PERIODS }, (_, index) => {
    const endMs = lastEndMs - (definition.evaluationPeriods + EXTRA_PERIODS - 1 - index) * definition.periodMs;
    return dataPoint(definition, definition.returnedId, data, endMs);
  });
};

const dataPoint = (definition: AlarmDefinition, id: string, data: AlarmData, endMs: number): DataPoint => {
  const startMs = endMs - definition.periodMs;
  const found = definition.queries.find((query) => query.id === id);
  if (!found) throw new Error(`The alarm ${definition.name} has no metric ${id}.`);
  if ('metric' in found) return data.statistic(found.metric, found.statistic, startMs, endMs);
  return found.expression(
    (other) => dataPoint(definition, other, data, endMs),
    (name, metric) => data.insightRule(name, metric, startMs, endMs),
  );
};

/** The properties of an alarm that determine its state. */
export type EvaluationRules = Pick<
  AlarmDefinition,
  'evaluationPeriods' | 'datapointsToAlarm' | 'threshold' | 'treatMissingData'
>;

/**
 * Returns the next state of an alarm from its data points, oldest first, as CloudWatch documents it ("Configuring how
 * CloudWatch alarms treat missing data"): existing data points of the whole range count first, and missing data points
 * are filled in only if these are too few.
 */
export const nextState = (
  { evaluationPeriods, datapointsToAlarm, threshold, treatMissingData }: EvaluationRules,
  points: readonly DataPoint[],
  current: AlarmState,
): AlarmState => {
  const present = points.filter((point) => point !== undefined).slice(-evaluationPeriods);
  const breachingCount = present.filter((point) => point >= threshold).length;
  const missingCount = evaluationPeriods - present.length;
  const filledCount = treatMissingData === 'breaching' ? missingCount : 0;
  if (breachingCount + filledCount >= datapointsToAlarm) return 'ALARM';
  const isUndecided = missingCount > 0 && breachingCount === present.length;
  return treatMissingData === 'ignore' && isUndecided ? current : 'OK';
};
