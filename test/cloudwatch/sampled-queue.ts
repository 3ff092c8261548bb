import type { SampledQueue } from './queue-sampler.ts';

/** Returns the state of an empty queue, with these properties replaced. */
export const sampledQueue = (properties: Partial<SampledQueue> = {}): SampledQueue => ({
  settings: { name: 'q' },
  counts: { visible: 0, delayed: 0, inFlight: 0 },
  totals: { sent: 0, received: 0, deleted: 0, emptyReceives: 0 },
  pendingReceives: 0,
  ageOfOldestMessageSeconds: () => undefined,
  ...properties,
});
