import fc from 'fast-check';
import { MetricStore } from 'local-aws/cloudwatch/metric-store.ts';
import { describe, expect, it } from 'vitest';
import { type AlarmState, dataPoints, type EvaluationRules, nextState } from './alarm-evaluation.ts';

const UNCHANGED = 'unchanged';

/** Parses data points in the notation of the CloudWatch documentation: `X` breaches, `0` does not, `-` is missing. */
const points = (text: string) => text.split(' ').map((symbol) => ({ X: 1, '0': 0, '-': undefined })[symbol]);

const rules = (datapointsToAlarm: number, treatMissingData: EvaluationRules['treatMissingData']): EvaluationRules => ({
  evaluationPeriods: 3,
  datapointsToAlarm,
  threshold: 1,
  comparison: 'GreaterThanOrEqualToThreshold',
  treatMissingData,
});

const treatments = ['missing', 'ignore', 'breaching', 'notBreaching'] as const;
const states: readonly AlarmState[] = ['OK', 'ALARM', 'INSUFFICIENT_DATA'];

/** Returns the next state for each treatment of missing data; `UNCHANGED` if it depends on the current state. */
const byTreatment = (datapointsToAlarm: number, text: string) =>
  treatments.map((treatment) => {
    const nextStates = states.map((current) => nextState(rules(datapointsToAlarm, treatment), points(text), current));
    if (nextStates.every((state, index) => state === states[index])) return UNCHANGED;
    const [state, ...others] = new Set(nextStates);
    expect(others).toEqual([]);
    return state;
  });

describe('the state of an alarm', () => {
  it.each([
    ['0 - X - X', ['OK', 'OK', 'OK', 'OK']],
    ['- - - - 0', ['OK', 'OK', 'OK', 'OK']],
    ['- - - - -', ['INSUFFICIENT_DATA', UNCHANGED, 'ALARM', 'OK']],
    ['0 X X - X', ['ALARM', 'ALARM', 'ALARM', 'ALARM']],
    ['- - X - -', ['ALARM', UNCHANGED, 'ALARM', 'OK']],
  ])('follows the documentation of CloudWatch for three of three periods: %s', (text, expected) => {
    expect(byTreatment(3, text)).toEqual(expected);
  });

  it.each([
    ['0 - X - X', ['ALARM', 'ALARM', 'ALARM', 'ALARM']],
    ['0 0 X 0 X', ['ALARM', 'ALARM', 'ALARM', 'ALARM']],
    ['0 - X - -', ['OK', 'OK', 'ALARM', 'OK']],
    ['- - - - 0', ['OK', 'OK', 'ALARM', 'OK']],
    ['- - - X -', ['ALARM', UNCHANGED, 'ALARM', 'OK']],
  ])('follows the documentation of CloudWatch for two of three periods: %s', (text, expected) => {
    expect(byTreatment(2, text)).toEqual(expected);
  });

  it('depends only on the newest existing data points if there are enough of them', () => {
    const point = fc.constantFrom(0, 1, undefined);
    fc.assert(
      fc.property(
        fc
          .array(point, { minLength: 5, maxLength: 5 })
          .filter((all) => all.filter((value) => value !== undefined).length >= 3),
        fc.constantFrom(...treatments),
        fc.constantFrom(...states),
        fc.integer({ min: 1, max: 3 }),
        (all, treatment, current, datapointsToAlarm) => {
          const newest = all.filter((value) => value !== undefined).slice(-3);
          const isAlarm = newest.filter((value) => value === 1).length >= datapointsToAlarm;
          expect(nextState(rules(datapointsToAlarm, treatment), all, current)).toBe(isAlarm ? 'ALARM' : 'OK');
        },
      ),
    );
  });

  it.each([
    ['GreaterThanOrEqualToThreshold', [0, 1, 1]],
    ['GreaterThanThreshold', [0, 0, 1]],
    ['LessThanThreshold', [1, 0, 0]],
    ['LessThanOrEqualToThreshold', [1, 1, 0]],
  ] as const)('compares values with the threshold: %s', (comparison, expected) => {
    const singlePeriod = { ...rules(1, 'missing'), evaluationPeriods: 1, comparison };
    expect([0, 1, 2].map((value) => Number(nextState(singlePeriod, [value], 'OK') === 'ALARM'))).toEqual(expected);
  });
});

describe('the data points of an alarm', () => {
  const metric = { namespace: 'N', name: 'm', dimensions: {} };
  const minute = (index: number) => index * 60_000;

  const alarm = {
    name: 'a',
    queries: [{ id: 'm', metric, statistic: 'Sum', periodMs: minute(2) }],
    returnedId: 'm',
    periodMs: minute(2),
    datapointsToAlarm: 1,
    evaluationPeriods: 1,
    threshold: 1,
    comparison: 'GreaterThanThreshold',
    treatMissingData: 'missing',
  } as const;

  it('are from a window that slides by one minute', () => {
    const store = new MetricStore();
    for (const [index, value] of [1, 2, 4, 8, 16, 32, 64].entries()) {
      store.put({ metric, value, timestampMs: minute(index) + 30_000 });
    }
    const data = { statistic: store.statistic.bind(store), insightRule: () => undefined };
    expect(dataPoints(alarm, data, minute(6) + 1)).toEqual([3, 12, 48]);
    expect(dataPoints(alarm, data, minute(7) + 1)).toEqual([6, 24, 96]);
  });

  it('are computed per period for an expression', () => {
    const store = new MetricStore();
    store.put({ metric, value: 5, timestampMs: minute(5) });
    const data = { statistic: store.statistic.bind(store), insightRule: () => undefined };
    const call = {
      kind: 'call',
      name: 'FILL',
      args: [
        { kind: 'reference', id: 'm' },
        { kind: 'number', value: 9 },
      ],
    } as const;
    const expression = { ...call, args: [...call.args] };
    const computed = { ...alarm, queries: [...alarm.queries, { id: 'e', expression }], returnedId: 'e' };
    expect(dataPoints(computed, data, minute(6))).toEqual([9, 9, 5]);
  });
});
