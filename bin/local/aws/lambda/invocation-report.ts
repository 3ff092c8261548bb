/** One request to run a function, as the metrics of CloudWatch (`AWS/Lambda`) count it. */
export type InvocationReport = {
  functionName: string;
  /** When it ended by the stack's time, in milliseconds since the epoch. */
  endedAtMs: number;
  /**
   * `success` and `error` (thrown, timed out, or crashed) count as `Invocations`, `error` also as `Errors`; `throttle`
   * counts as `Throttles` only, since the function did not run.
   */
  result: 'success' | 'error' | 'throttle';
  /** How long the function ran in real time, in milliseconds, without its initialization; 0 for a throttle. */
  durationMs: number;
};
