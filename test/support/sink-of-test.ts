import { onTestFinished } from 'vitest';
import { openSink as openAnySink, type Sink } from './sink.ts';

export { payload, type Received, type Sink } from './sink.ts';

/** Opens a sink that closes with the test. */
export const openSink = async (...answer: Parameters<typeof openAnySink>): Promise<Sink> => {
  const sink = await openAnySink(...answer);
  onTestFinished(() => sink.close());
  return sink;
};
