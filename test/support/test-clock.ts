/** A clock that starts at a time in ms since the epoch, and that a test moves by seconds, or by ms (`wait`). */
export const testClock = (startMs: number) => {
  let nowMs = startMs;
  return {
    clock: (): number => nowMs,
    advance: (seconds: number): void => {
      nowMs += seconds * 1_000;
    },
    wait: (ms: number): void => {
      nowMs += ms;
    },
  };
};
