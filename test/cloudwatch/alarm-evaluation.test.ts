import { expect, it } from 'vitest';
import { nextState } from './alarm-evaluation.ts';

const UNCHANGED = 'unchanged';

/** Parses data points in the notation of the CloudWatch documentation: `X` breaches, `0` does not, `-` is missing. */
const points = (text: string) => text.split(' ').map((symbol) => ({ X: 1, '0': 0, '-': undefined })[symbol]);

/** Returns the next state if missing data is ignored, breaching and not breaching. */
const byTreatment = (datapointsToAlarm: number, text: string) =>
  (['ignore', 'breaching', 'notBreaching'] as const).map((treatMissingData) => {
    const rules = { evaluationPeriods: 3, datapointsToAlarm, threshold: 1, treatMissingData };
    const [afterOk, afterAlarm] = (['OK', 'ALARM'] as const).map((state) => nextState(rules, points(text), state));
    return afterOk === afterAlarm ? afterOk : UNCHANGED;
  });

it.each([
  [3, '0 - X - X', ['OK', 'OK', 'OK']],
  [3, '- - - - 0', ['OK', 'OK', 'OK']],
  [3, '- - - - -', [UNCHANGED, 'ALARM', 'OK']],
  [3, '0 X X - X', ['ALARM', 'ALARM', 'ALARM']],
  [3, '- - X - -', [UNCHANGED, 'ALARM', 'OK']],
  [2, '0 - X - X', ['ALARM', 'ALARM', 'ALARM']],
  [2, '0 0 X 0 X', ['ALARM', 'ALARM', 'ALARM']],
  [2, '0 - X - -', ['OK', 'ALARM', 'OK']],
  [2, '- - - - 0', ['OK', 'ALARM', 'OK']],
  [2, '- - - X -', [UNCHANGED, 'ALARM', 'OK']],
])(
  'the state of an alarm follows the documentation of CloudWatch for %i of three periods: %s',
  (count, text, expected) => {
    expect(byTreatment(count, text)).toEqual(expected);
  },
);
