/** A step that is repeated in the background. */
export type Repetition = {
  /** Ends the repetition after the current step. */
  end: () => void;
  /** Resolves when the last step has ended. Rejects with the error of a step. */
  ended: Promise<void>;
};

/** Repeats a step in the background, `concurrency` times at once. */
export const repeat = (step: () => Promise<void>, concurrency = 1): Repetition => {
  let isRunning = true;
  const run = async () => {
    while (isRunning) await step();
  };
  const ended = Promise.all(Array.from({ length: concurrency }, run)).then(() => undefined);
  // The caller awaits `ended` later.
  ended.catch(() => undefined);
  return {
    end: () => {
      isRunning = false;
    },
    ended,
  };
};
