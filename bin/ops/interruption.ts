const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let signal: NodeJS.Signals | undefined;
let running = 0;

const stopCatching = (): void => {
  for (const each of SIGNALS) process.off(each, onSignal);
};

const onSignal = (received: NodeJS.Signals): void => {
  signal = received;
  stopCatching();
};

/**
 * Catches SIGINT and SIGTERM while something runs that must be undone. A second signal ends the process.
 *
 * @returns the signal, if there was one, and a function that must be called when it is undone
 */
export const catchSignals = () => {
  if (running++ === 0) for (const each of SIGNALS) process.on(each, onSignal);
  return {
    signal: () => signal,
    release: () => {
      if (--running > 0) return;
      stopCatching();
      signal = undefined;
    },
  };
};
