import fc, { type Arbitrary } from 'fast-check';

/** Whether this is a run of `npm test`, which has less time than that of CI. */
export const isQuickRun = process.env.QUICK_RUN === 'true';

/** Returns how many cases a property is tested with: `count`, or a tenth in `npm test`. */
export const runs = (count: number): number => (isQuickRun ? Math.ceil(count / 10) : count);

/** Returns a function that asserts a property of so many cases (`runs`): `forAll(500)(fc.nat(), (number) => { ... })`. */
export const forAll =
  (count = 100) =>
  <Values extends [unknown, ...unknown[]]>(
    ...parameters: [
      ...arbitraries: { [Index in keyof Values]: Arbitrary<Values[Index]> },
      assertAll: (...values: Values) => void,
    ]
  ): void =>
    fc.assert(fc.property<Values>(...parameters), { numRuns: runs(count) });
