import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import { largestHeaders, validDetails } from '../../support/notifications.ts';
import { OPT_OUT_KEY } from '../../support/opt-outs.ts';
import { childOptions, serveAsChild } from './child.ts';
import { LISTED_TOKEN_ID } from './first-event.ts';
import { meter } from './meter.ts';
import { FAILING_TENANT } from './stub-notification.ts';

/*
 * AWS for benchmarks, in its own process. It responds to every call with success, counts the calls by action and meters
 * their units of the price list. It stores nothing but the revocation of its token, so that benchmarks measure only the
 * caller.
 */

const { destination, isMetered } = childOptions(
  z.object({
    destination: z.string(),
    /** Whether to count the units of the price list as well. */
    isMetered: z.boolean().default(false),
  }),
);

/** The largest summary that is read. */
const SUMMARIZED_ALARMS = 20_000;
const SUMMARY_PAGES = 8;

type Attribute = Record<string, unknown>;
type Item = Record<string, Attribute>;

const text = (value: string): Attribute => ({ S: value });
const list = (...values: string[]): Attribute => ({ L: values.map(text) });
const inAnHour = () => Math.floor(Date.now() / 1000) + 3_600;

const keySchema = z.record(z.string(), z.object({ S: z.string() }));
type Key = z.infer<typeof keySchema>;

/** Valid values for the fields of all types. */
const fields: Item = {
  ...Object.fromEntries(
    Object.values(validDetails)
      .flatMap((details) => Object.entries(details))
      .map(([name, value]) => [name, text(value)]),
  ),
  url: text(destination),
  service_endpoint: text(destination),
};

const content = Buffer.from(JSON.stringify({ details: { url: null } }));

const failing: Item = {
  fields: { M: { ...fields, url: text(`${destination}/fail`) } },
  webhook_request: text(JSON.stringify({ headers: largestHeaders() })),
};

/** Returns the target of a notification. The last digit of its ID is the index of its type. */
const target = (key: Key): Item => {
  const type = notificationTypeIds[Number(key.sk?.S.at(-1))] ?? 'webhook';
  return {
    ...key,
    type: text(type),
    label: text('Bench'),
    fields: { M: fields },
    ...(key.pk?.S.endsWith(`#${FAILING_TENANT}`) && failing),
    version: text('v'),
    content: { B: content.toString('base64') },
    content_bytes: { N: String(content.length) },
    chunks: { N: '0' },
  };
};

const counter: Item = { used: { N: '10' }, changes: { N: '10' } };

const account: Item = {
  webhook_token: text('a-token-of-some-length'),
  webhook_secrets: list('whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz'),
  technical_contacts: list('a@example.com'),
};

const token = (): Item => ({
  id: text(LISTED_TOKEN_ID),
  label: text('Bench'),
  tenant: text('bench'),
  role: text('admin'),
  ttl: { N: String(inAnHour()) },
});

const tokenList = (): Item => ({
  tokens: {
    L: [
      {
        M: {
          hash: text('0'.repeat(64)),
          id: text(LISTED_TOKEN_ID),
          role: text('creator'),
          label: text('Bench'),
          issuer: text('operator'),
          created_at_ms: { N: '1' },
          expires_at_ms: { N: String(inAnHour() * 1_000) },
        },
      },
    ],
  },
});

const queryInput = z.object({
  TableName: z.string(),
  ExpressionAttributeValues: z.object({ ':pk': z.object({ S: z.string() }) }),
  ExclusiveStartKey: z.object({ page: z.object({ N: z.string() }) }).optional(),
});
const getInput = z.object({ TableName: z.string(), Key: keySchema });
const batchGetInput = z.object({ RequestItems: z.record(z.string(), z.object({ Keys: z.array(keySchema) })) });
const updateInput = z.object({
  Key: keySchema,
  UpdateExpression: z.string(),
  ExpressionAttributeNames: z.record(z.string(), z.string()).default({}),
  ExpressionAttributeValues: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
});
const sendInput = z.object({ MessageBody: z.string() });
const sendBatchInput = z.object({ Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string() })) });

const assignment = /(#?\w+) = (?:if_not_exists\(#?\w+, )?(:\w+)/g;

const updatedItem = (input: unknown): Item => {
  const { Key, UpdateExpression, ExpressionAttributeNames, ExpressionAttributeValues } = updateInput.parse(input);
  const set = [...UpdateExpression.matchAll(assignment)].map(([, name = '', value = '']) => [
    ExpressionAttributeNames[name] ?? name,
    ExpressionAttributeValues[value],
  ]);
  return { ...Key, ...Object.fromEntries(set) };
};

const itemOf = (table: string, key: Key): Item | undefined => {
  if (table.includes('Tokens')) return key.pk?.S.startsWith('tenant#') ? tokenList() : token();
  if (key.pk?.S === 'opt_out_keys') return { current: text(OPT_OUT_KEY.toString('base64')) };
  if (table.includes('Accounts')) return account;
  if (table.includes('Notifications')) return key.pk?.S.startsWith('quota#') ? counter : target(key);
  return undefined;
};

const sentMessage = (body: string) => ({
  MessageId: 'sent',
  MD5OfMessageBody: createHash('md5').update(body).digest('hex'),
});

/** A page of 1 MB of the 20,000 alarms of a summary, whose texts have the maximum length. */
const alarms = Array.from(
  { length: SUMMARIZED_ALARMS / SUMMARY_PAGES },
  (_, index): Item => ({
    sk: text(`alarm#${String(index).padStart(16, '0')}`),
    name: text('n'.repeat(120)),
    state: text('CRITICAL'),
    status: text('s'.repeat(120)),
    at_ms: { N: String(1_700_000_000_000 + index) },
    newest: text('t'.repeat(48)),
  }),
);

/** Returns a page of a summary. The key at which the next one starts has its number. */
const summaryPage = ({ ExclusiveStartKey }: z.infer<typeof queryInput>) => {
  const page = Number(ExclusiveStartKey?.page.N ?? 0) + 1;
  const next = page < SUMMARY_PAGES && { LastEvaluatedKey: { page: { N: String(page) } } };
  return { Items: alarms, Count: alarms.length, ...next };
};

const responses: Record<string, (input: unknown) => object> = {
  GetItem(input) {
    const { TableName, Key } = getInput.parse(input);
    return { Item: itemOf(TableName, Key) };
  },
  BatchGetItem: (input) => ({
    Responses: Object.fromEntries(
      Object.entries(batchGetInput.parse(input).RequestItems).map(([table, { Keys }]) => [
        table,
        // No counter of the table Accounts has an item yet.
        table.includes('Notifications') ? Keys.map(target) : [],
      ]),
    ),
    UnprocessedKeys: {},
  }),
  UpdateItem: (input) => ({ Attributes: updatedItem(input) }),
  PutItem: () => ({}),
  // Responds as if the item existed.
  DeleteItem(input) {
    const { TableName, Key } = getInput.parse(input);
    return { Attributes: itemOf(TableName, Key) };
  },
  BatchWriteItem: () => ({ UnprocessedItems: {} }),
  TransactWriteItems: () => ({}),
  Query(input) {
    const query = queryInput.parse(input);
    if (query.ExpressionAttributeValues[':pk'].S.startsWith('summary#')) return summaryPage(query);
    // There are no deliveries.
    if (/Deliveries|Audits/.test(query.TableName)) return { Items: [], Count: 0 };
    const Items = Array.from({ length: 10 }, (_, index) =>
      target({ pk: { S: 'notification#bench' }, sk: { S: `nt01M7W36KGQDJ8S2D76FCWK3Z0${index}` } }),
    );
    return { Items, Count: Items.length };
  },
  SendMessage: (input) => sentMessage(sendInput.parse(input).MessageBody),
  SendMessageBatch: (input) => ({
    Successful: sendBatchInput.parse(input).Entries.map(({ Id, MessageBody }) => ({ Id, ...sentMessage(MessageBody) })),
    Failed: [],
  }),
  ChangeMessageVisibility: () => ({}),
};

const EMAIL_SENT =
  '<SendRawEmailResponse><SendRawEmailResult><MessageId>m</MessageId></SendRawEmailResult></SendRawEmailResponse>';
const PUBLISHED = '<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>';
const TESTED = JSON.stringify({ status: 'success', message: 'Success' });

/** Returns the action of a call from its target header (DynamoDB, SQS), its path (Lambda) or its form (SES, SNS). */
const parseCall = (request: IncomingMessage, body: string): { action: string; input: unknown } => {
  const target = request.headers['x-amz-target'];
  if (typeof target === 'string') return { action: target.split('.')[1] ?? '', input: JSON.parse(body) };
  if (request.url?.includes('/invocations')) return { action: 'Invoke', input: undefined };
  const form = Object.fromEntries(new URLSearchParams(body));
  return { action: form.Action ?? 'unknown', input: form };
};

const OTHER_RESPONSES: Record<string, readonly [type: string, body: string]> = {
  Invoke: ['application/json', TESTED],
  SendRawEmail: ['text/xml', EMAIL_SENT],
  Publish: ['text/xml', PUBLISHED],
};

serveAsChild((count) => (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { action, input } = parseCall(request, Buffer.concat(parts).toString('utf8'));
    count(action);
    const output = responses[action]?.(input) ?? {};
    if (isMetered) for (const [unit, amount] of Object.entries(meter(action, input, output))) count(unit, amount);
    const [type, body] = OTHER_RESPONSES[action] ?? ['application/x-amz-json-1.0', JSON.stringify(output)];
    response.setHeader('content-type', type);
    response.end(body);
  });
});
