import { onTestFinished } from 'vitest';
import { type Sink, startSink } from './sink.ts';

export { payload, type Received, type Sink } from './sink.ts';

/** Starts a sink that closes when the test finishes. */
export const openSink = async (...parameters: Parameters<typeof startSink>): Promise<Sink> => {
  const sink = await startSink(...parameters);
  onTestFinished(() => sink.close());
  return sink;
};
