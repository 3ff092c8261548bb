import { beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { parseLarge, returnDeferred, splitBySize } from '../../shared/pipeline/large-messages.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const message = (messageId: string, characters: number, sentAtMs = 0) =>
  sqsMessage({
    messageId,
    body: 'x'.repeat(characters),
    attributes: { ...sqsMessage().attributes, MessageGroupId: 'acme', SentTimestamp: String(sentAtMs) },
  });
const idsOf = (messages: readonly { messageId: string }[]) => messages.map(({ messageId }) => messageId);

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

describe('large messages', () => {
  it('are those of more than 64 KiB, oldest first', () => {
    const messages = [message('new', 65_537, 2), message('b', 65_536, 9), message('old', 900_000, 1), message('a', 10)];
    const { small, large } = splitBySize(messages);
    expect([idsOf(small), idsOf(large)]).toEqual([
      ['b', 'a'],
      ['old', 'new'],
    ]);
  });

  it('are parsed while there is time, with other work in between', async () => {
    const order: string[] = [];
    const turns = (async () => {
      for (const turn of [1, 2, 3]) {
        order.push(`turn ${turn}`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const messages = ['a', 'b', 'c'].map((id) => message(id, 1));
    const parse = ({ messageId }: { messageId: string }) => {
      order.push(messageId);
      return messageId;
    };
    const { parsed, deferred } = await parseLarge(messages, parse, () => !order.includes('b'));
    await turns;
    expect([parsed, idsOf(deferred)]).toEqual([['a', 'b'], ['c']]);
    expect(order.slice(0, 5)).toEqual(['turn 1', 'turn 2', 'a', 'turn 3', 'b']);
  });

  it('return to their queue for two seconds if there was no time, even if SQS fails', async () => {
    const changeVisibility = vi.fn(async () => {});
    await returnDeferred({ changeVisibility }, 'queue', message('a', 1));
    expect(changeVisibility).toHaveBeenCalledExactlyOnceWith('queue', expect.anything(), 2_000);
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('large message deferred', {
      message_id: 'a',
      tenant_id: 'acme',
    });
    changeVisibility.mockRejectedValueOnce(new Error('no response'));
    await returnDeferred({ changeVisibility }, 'queue', message('a', 1));
    expect(logger.error).toHaveBeenCalledOnce();
  });
});
