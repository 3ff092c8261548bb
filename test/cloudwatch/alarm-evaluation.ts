import { type MetricIdentity, MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import type { AlarmDefinition, TreatMissingData } from './alarm-definition.ts';
import { type DataPoint, evaluateExpression } from './metric-math.ts';

/** The states of a metric alarm. */
export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';

/** The data that alarms evaluate. */
export type AlarmData = {
  statistic(metric: MetricIdentity, statistic: string, startMs: number, endMs: number): number | undefined;
  insightRule(ruleName: string, metric: string, startMs: number, endMs: number): number | undefined;
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
  return evaluateExpression(found.expression, {
    reference: (other) => dataPoint(definition, other, data, endMs),
    metrics: () =>
      definition.queries.flatMap((query) =>
        'metric' in query ? [data.statistic(query.metric, query.statistic, startMs, endMs)] : [],
      ),
    insightRule: (name, metric) => data.insightRule(name, metric, startMs, endMs),
  });
};

/** The properties of an alarm that determine its state. */
export type EvaluationRules = Pick<
  AlarmDefinition,
  'evaluationPeriods' | 'datapointsToAlarm' | 'threshold' | 'comparison' | 'treatMissingData'
>;

/**
 * Returns the next state of an alarm from its data points, oldest first, as CloudWatch documents it ("Configuring how
 * CloudWatch alarms treat missing data"): existing data points of the whole range count first, and missing data points
 * are filled in only if these are too few.
 */
export const nextState = (rules: EvaluationRules, points: readonly DataPoint[], current: AlarmState): AlarmState => {
  const { evaluationPeriods, datapointsToAlarm, treatMissingData } = rules;
  const breaching = points.filter((point) => point !== undefined).map((point) => isBreaching(rules, point));
  const filledCount = Math.max(0, evaluationPeriods - breaching.length);
  const recent = breaching.slice(-evaluationPeriods);
  if (filledCount === 0) return stateOf(count(recent) >= datapointsToAlarm);
  if (treatMissingData === 'breaching' || treatMissingData === 'notBreaching') {
    const filledBreaching = treatMissingData === 'breaching' ? filledCount : 0;
    return stateOf(count(recent) + filledBreaching >= datapointsToAlarm);
  }
  return stateWithGaps(rules, points, treatMissingData, current);
};

/** Evaluates fewer data points than evaluation periods without filling the gaps. */
const stateWithGaps = (
  rules: EvaluationRules,
  points: readonly DataPoint[],
  treatMissingData: Extract<TreatMissingData, 'missing' | 'ignore'>,
  current: AlarmState,
): AlarmState => {
  const present = points.filter((point) => point !== undefined).map((point) => isBreaching(rules, point));
  if (present.length === 0) return treatMissingData === 'ignore' ? current : 'INSUFFICIENT_DATA';
  if (count(present) >= rules.datapointsToAlarm) return 'ALARM';
  if (present.includes(false)) return 'OK';
  if (treatMissingData === 'ignore') return current;
  // All data points breach: CloudWatch changes to ALARM only if the oldest is at least `datapointsToAlarm` periods old.
  const agePeriods = points.length - points.findIndex((point) => point !== undefined);
  return stateOf(agePeriods >= rules.datapointsToAlarm);
};

const count = (breaching: readonly boolean[]): number => breaching.filter(Boolean).length;

const stateOf = (isAlarm: boolean): AlarmState => (isAlarm ? 'ALARM' : 'OK');

const isBreaching = ({ comparison, threshold }: EvaluationRules, value: number): boolean => {
  switch (comparison) {
    case 'GreaterThanOrEqualToThreshold':
      return value >= threshold;
    case 'GreaterThanThreshold':
      return value > threshold;
    case 'LessThanThreshold':
      return value < threshold;
    case 'LessThanOrEqualToThreshold':
      return value <= threshold;
  }
};
