import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { close, listen } from 'local-aws/http.ts';
import { useBundles } from 'local-aws/test/support/bundles.ts';
import { template } from 'local-aws/test/support/template.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LocalStack, startLocalStack } from '../../bin/local/stack.ts';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { auditIn } from '../support/audit.ts';

const idle = `exports.handler = async () => { throw new Error('not processed'); };`;
const bundles = useBundles({ enqueue: idle, work: idle, fallback: idle });

let parent: string;
let data: string;
const log: string[] = [];
const running = new Set<LocalStack>();
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'data-test-'));
  data = join(parent, 'data');
  log.length = 0;
});
afterEach(async () => {
  for (const stack of running) await stack.stop();
  running.clear();
  rmSync(parent, { recursive: true });
});

const start = async (resources: object = {}): Promise<LocalStack> => {
  const stack = await startLocalStack({
    data,
    log: (line) => log.push(line),
    synthesize: () => ({
      template: { ...template, Resources: { ...template.Resources, ...resources } },
      bundle: (key) => join(bundles.directory, key.replace('.zip', '')),
      remove: () => {},
    }),
  });
  running.add(stack);
  return stack;
};
const stop = async (stack: LocalStack) => {
  await stack.stop();
  running.delete(stack);
};
const using = async <Result>(stack: LocalStack, call: (client: DynamoDBClient) => Promise<Result>): Promise<Result> => {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint: stack.ready.aws_endpoint, region: 'us-east-1', credentials });
  return call(client).finally(() => client.destroy());
};
const TableName = 'StorageTokens';
const Item = { pk: { S: 'kept' }, text: { S: 'é\u{1f600}' } };
const readItem = (stack: LocalStack) =>
  using(stack, async (client) => (await client.send(new GetItemCommand({ TableName, Key: { pk: Item.pk } }))).Item);
const tableSortedBy = (sortKey: string) => ({
  Sorted: {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: sortKey, KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [sortKey, 'pk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      BillingMode: 'PAY_PER_REQUEST',
    },
  },
});

describe('a data directory', () => {
  it('keeps tables, tokens and ports across starts', async () => {
    const first = await start(tableSortedBy('sk'));
    await using(first, (client) => client.send(new PutItemCommand({ TableName, Item })));
    await stop(first);
    const second = await start(tableSortedBy('sk'));
    expect(second.ready).toEqual(first.ready);
    expect(await readItem(second)).toEqual(Item);
  });

  it('can be read only by its user, because it contains tokens', async () => {
    mkdirSync(data, { mode: 0o755 });
    await start();
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(statSync(join(data, 'tokens.json')).mode & 0o777).toBe(0o600);
  });

  it('gets a new token for one that was revoked, so that the printed tokens are valid', async () => {
    const first = await start();
    const { creator } = first.ready.tokens;
    await using(first, async (client) => {
      const tokens = createTokenRepository(DynamoDBDocumentClient.from(client, documentOptions), TableName);
      const [, entry] = await tokens.list('acme');
      await tokens.revoke({ tenant: 'acme', id: entry?.id ?? '', revoker: 'operator' }, auditIn(TableName));
    });
    await stop(first);
    const second = await start();
    expect(second.ready.tokens).toEqual({ ...first.ready.tokens, creator: expect.stringMatching(/^mnt_/) });
    expect(second.ready.tokens.creator).not.toBe(creator);
    await stop(second);
    expect((await start()).ready.tokens).toEqual(second.ready.tokens);
  });

  it('says on stop which messages it does not keep', async () => {
    const stack = await start();
    const { aws_endpoint: endpoint, alarm_queue_url: QueueUrl } = stack.ready;
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const sqs = new SQSClient({ endpoint, region: 'us-east-1', credentials });
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'lost', DelaySeconds: 900 }));
    sqs.destroy();
    await stop(stack);
    expect(log.at(-1)).toBe('The data directory does not keep queues. Discarded messages: Jobs 1.');
  });

  it('gets another port for one that is in use, says so, and returns to it', async () => {
    const first = await start();
    const port = Number(new URL(first.ready.inbox_url).port);
    await stop(first);
    const other = createServer();
    await listen(other, port);
    const second = await start();
    await close(other);
    expect(second.ready).toMatchObject({ aws_endpoint: first.ready.aws_endpoint, base_url: first.ready.base_url });
    expect(second.ready.inbox_url).not.toBe(first.ready.inbox_url);
    expect(log).toEqual([`Port ${port} of the last start is in use: inbox uses another one until the next start.`]);
    await stop(second);
    expect((await start()).ready).toEqual(first.ready);
  });

  it('is used by one stack at a time', async () => {
    await start();
    await expect(start()).rejects.toThrow(
      `${data} is in use by another local stack: stop it, or use another directory.`,
    );
  });

  it('is rejected if a table has other keys than the template', async () => {
    await stop(await start(tableSortedBy('sk')));
    await expect(start(tableSortedBy('other'))).rejects.toThrow(
      'The table Sorted in the data directory has other keys than the template: use another directory.',
    );
    await start(tableSortedBy('sk'));
  });

  it.each([
    ['tokens.json', '{', /tokens\.json is damaged: delete this file to issue new tokens; the tables remain\.$/],
    ['ports.json', '[]', /ports\.json is damaged: delete this file to get new ports; the tables remain\.$/],
    [
      'tables/tables.sqlite',
      'garbage',
      /tables is damaged: delete .*data to start with empty tables \(file is not a database\)\.$/,
    ],
    ['notes.txt', '', /data is not a data directory, because it contains notes\.txt: pass --data with another one\.$/],
  ])('is rejected in one sentence if it is not as an earlier start left it: %s', async (file, content, message) => {
    await stop(await start());
    writeFileSync(join(data, file), content);
    await expect(start()).rejects.toThrow(message);
  });
});
