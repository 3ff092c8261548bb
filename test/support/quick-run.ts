/** Whether this is a run of `npm test`, which has less time than that of CI. */
export const isQuickRun = process.env.QUICK_RUN === 'true';

/** Returns how many cases a property is tested with: `count`, or a tenth in `npm test`. */
export const runs = (count: number): number => (isQuickRun ? Math.ceil(count / 10) : count);
