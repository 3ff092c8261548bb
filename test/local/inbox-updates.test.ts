import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MessageStore, streamUpdates } from '../../bin/local/inbox/message-store.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('waits only once for a client that reads nothing, however many messages arrive', () => {
  const store = new MessageStore();
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  streamUpdates(
    response,
    store,
    () => true,
    () => ({ webhooks: [] }),
  );
  const receive = (count: number) => {
    for (let index = 0; index < count; index++)
      store.add({ kind: 'sms', to: '+1', text: 'x'.repeat(200), attributes: {} });
    vi.runAllTimers();
  };
  receive(500);
  expect(response.writableNeedDrain).toBe(true);
  for (let second = 0; second < 20; second++) receive(1);
  expect(response.listenerCount('drain')).toBe(1);
});
