import type { AlarmDefinition, TreatMissingData } from './alarm-definition.ts';
import { type DataPoint, evaluateExpression } from './metric-math.ts';
import { type MetricIdentity, MINUTE_MS } from './metric-store.ts';

/** The states of a metric alarm. */
export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';

/** What alarms look at. */
export type AlarmData = {
  statistic(metric: MetricIdentity, statistic: string, startMs: number, endMs: number): number | undefined;
  insightRule(ruleName: string, metric: string, startMs: number, endMs: number): number | undefined;
};

/**
 * CloudWatch looks back further than the evaluation periods, so that data that is late or sparse can still be evaluated. How
 * much further it does not say; in the examples of its documentation it is two periods.
 */
const EXTRA_PERIODS = 2;

/**
 * The data points of an alarm at a time, the oldest first. The window slides: its last period ends with the last whole minute.
 */
export const dataPoints = (definition: AlarmDefinition, data: AlarmData, nowMs: number): DataPoint[] => {
  const lastEnd = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: definition.evaluationPeriods + EXTRA_PERIODS }, (_, index) => {
    const endMs = lastEnd - (definition.evaluationPeriods + EXTRA_PERIODS - 1 - index) * definition.periodMs;
    return dataPoint(definition, definition.watchedId, data, endMs);
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

/** The rules of an alarm that its state follows from. */
export type EvaluationRules = Pick<
  AlarmDefinition,
  'evaluationPeriods' | 'datapointsToAlarm' | 'threshold' | 'comparison' | 'treatMissingData'
>;

/**
 * The state that follows from data points, the oldest first, by the rules of the CloudWatch documentation ("Configuring how
 * CloudWatch alarms treat missing data"): real data points count before missing ones, from as far back as was looked; what is
 * missing then is filled as the alarm says.
 */
export const nextState = (rules: EvaluationRules, points: readonly DataPoint[], current: AlarmState): AlarmState => {
  const { evaluationPeriods, datapointsToAlarm, treatMissingData } = rules;
  const breaching = points.filter((point) => point !== undefined).map((point) => isBreaching(rules, point));
  const filledCount = Math.max(0, evaluationPeriods - breaching.length);
  const recent = breaching.slice(-evaluationPeriods);
  if (filledCount === 0) return stateOf(count(recent) >= datapointsToAlarm);
  if (treatMissingData === 'breaching' || treatMissingData === 'notBreaching') {
    const filled = treatMissingData === 'breaching' ? filledCount : 0;
    return stateOf(count(recent) + filled >= datapointsToAlarm);
  }
  return withGaps(rules, points, treatMissingData, current);
};

/** Too few real data points, and nothing to fill the gaps with: they decide alone, unless all of them are breaching. */
const withGaps = (
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
  // Nothing but breaching since this many periods: CloudWatch takes that for an alarm, and anything shorter for premature.
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
