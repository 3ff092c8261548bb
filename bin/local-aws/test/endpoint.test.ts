import { DeleteItemCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SESClient, SendRawEmailCommand, type SendRawEmailRequest } from '@aws-sdk/client-ses';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../clock.ts';
import { createDynamoDb } from '../dynamodb/dynamodb.ts';
import type { Fault } from '../endpoint.ts';
import { type SentEmail, sesService } from '../ses.ts';
import { type PublishedMessage, snsService } from '../sns.ts';
import { stsService } from '../sts.ts';
import { createTable } from './support/create-table.ts';
import { startEndpoint, type TestEndpoint } from './support/endpoint.ts';

const topic = 'arn:aws:sns:us-east-1:000000000000:alarms';
const emails: SentEmail[] = [];
const published: PublishedMessage[] = [];
let local: TestEndpoint;
let dynamodb: DynamoDBClient;
let ses: SESClient;
let sns: SNSClient;

beforeAll(async () => {
  local = await startEndpoint({
    dynamodb: createDynamoDb({ clock: systemClock, partitionLimits: false }).service,
    ses: sesService((email) => void emails.push(email)),
    sns: snsService([topic], (message) => void published.push(message)),
    sts: stsService,
  });
  dynamodb = new DynamoDBClient(local.client);
  ses = new SESClient(local.client);
  sns = new SNSClient(local.client);
});
afterAll(async () => {
  for (const client of [dynamodb, ses, sns]) client.destroy();
  await local.stop();
});
beforeEach(() => {
  emails.length = 0;
  published.length = 0;
});
afterEach(() => {
  local.endpoint.fault = () => undefined;
});

describe('SES', () => {
  const message = (changes: Partial<Record<'headers' | 'text', string[]>> = {}): string => {
    const { headers = [], text = ['text & <more>'] } = changes;
    const part = (type: string, lines: string[]) => ['--b', `Content-Type: ${type}`, '', ...lines];
    return [
      'From: us@example.com',
      'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=',
      ...headers,
      'Content-Type: multipart/alternative; boundary=b',
      '',
      ...part('text/plain', text),
      ...part('text/html', ['<b>html</b>']),
      '--b--',
      '',
    ].join('\r\n');
  };
  const email = (raw = message(), changes: Partial<SendRawEmailRequest> = {}) =>
    ses.send(
      new SendRawEmailCommand({
        Source: 'us@example.com',
        Destinations: ['a@example.org', 'b@example.org'],
        RawMessage: { Data: Buffer.from(raw) },
        ...changes,
      }),
    );

  it('sends an email to its destinations', async () => {
    expect((await email(message({ headers: ['To: c@example.org', 'X-Test: 1'] }))).MessageId).toEqual(
      expect.any(String),
    );
    expect(emails).toEqual([
      {
        from: 'us@example.com',
        to: ['a@example.org', 'b@example.org'],
        subject: 'Grüße',
        text: 'text & <more>\n',
        html: '<b>html</b>\n',
        headers: expect.objectContaining({ 'x-test': '1' }),
      },
    ]);
  });

  it('sends an email without destinations to the recipients in its headers', async () => {
    await email(message({ headers: ['To: c@example.org', 'Bcc: d@example.org'] }), { Destinations: [] });
    expect(emails).toMatchObject([{ to: ['c@example.org', 'd@example.org'] }]);
  });

  it.each<[string, string, Partial<SendRawEmailRequest>?]>([
    ['no message', ''],
    ['no empty line after the headers', 'From: us@example.com'],
    ['no sender in a header', '\r\ntext'],
    ['a header twice', message({ headers: ['subject: again'] })],
    ['a line that is no header', message({ headers: ['no header'] })],
    ['a character that is not ASCII', message({ text: ['Grüße'] })],
    ['a line end without CR', message({ text: ['a\nb'] })],
    ['a line of 999 characters', message({ text: ['x'.repeat(999)] })],
    ['no recipient', message(), { Destinations: [] }],
    ['51 recipients', message(), { Destinations: Array(51).fill('a@example.org') }],
    ['an invalid recipient', message(), { Destinations: ['invalid'] }],
  ])('rejects %s as SES does', async (_, raw, changes) => {
    const name = raw === '' ? 'ValidationError' : 'InvalidParameterValue';
    await expect(email(raw, changes)).rejects.toMatchObject({ name });
    expect(emails).toEqual([]);
  });

  const tags = (count: number) => Array.from({ length: count }, (_, index) => ({ Name: `t${index}`, Value: 'v' }));

  it('accepts 50 tags of up to 256 letters, digits, underscores and dashes', async () => {
    await email(message(), { Tags: [...tags(49), { Name: 'N_-9'.repeat(64), Value: 'v'.repeat(256) }] });
    expect(emails).toHaveLength(1);
  });

  it.each([
    ['51 tags', tags(51)],
    ['a name of 257 characters', [{ Name: 'n'.repeat(257), Value: 'v' }]],
    ['a value with an umlaut', [{ Name: 'n', Value: 'ä' }]],
    ['an empty value', [{ Name: 'n', Value: '' }]],
    ['two tags with the same name', [...tags(1), ...tags(1)]],
  ])('rejects %s', async (_, Tags) => {
    await expect(email(message(), { Tags })).rejects.toMatchObject({ name: 'InvalidParameterValue' });
    expect(emails).toEqual([]);
  });

  it('accepts a message of up to 10 MB', async () => {
    const lines = (megabytes: number) => Array<string>(megabytes * 1_110).fill('x'.repeat(951));
    await email(message({ text: lines(9) }));
    await expect(email(message({ text: lines(10) }))).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: expect.stringContaining('more than 10485760 bytes'),
    });
    expect(emails).toHaveLength(1);
  });
});

describe('SNS', () => {
  it('publishes an SMS with its attributes and a message to a topic', async () => {
    const smsType = { DataType: 'String', StringValue: 'Transactional' };
    const MessageAttributes = { 'AWS.SNS.SMS.SMSType': smsType };
    await sns.send(new PublishCommand({ PhoneNumber: '+14155550100', Message: 'hello & <you>', MessageAttributes }));
    await sns.send(new PublishCommand({ TopicArn: topic, Subject: 'Größe 😀', Message: 'text' }));
    expect(published).toEqual([
      {
        to: 'phone',
        phoneNumber: '+14155550100',
        text: 'hello & <you>',
        attributes: { 'AWS.SNS.SMS.SMSType': 'Transactional' },
      },
      { to: 'topic', topicArn: topic, subject: 'Größe 😀', text: 'text', attributes: {} },
    ]);
  });

  it.each([
    ['a number that is not E.164', { PhoneNumber: '0123', Message: 'a' }, 'InvalidParameterException'],
    ['a message over 256 KB', { TopicArn: topic, Message: 'x'.repeat(262_145) }, 'InvalidParameterException'],
    [
      'a subject of 100 characters',
      { TopicArn: topic, Subject: 'ö'.repeat(100), Message: 'a' },
      'InvalidParameterException',
    ],
    ['no destination', { Message: 'a' }, 'InvalidParameterException'],
    ['an unknown topic', { TopicArn: `${topic}2`, Message: 'a' }, 'NotFoundException'],
  ])('rejects %s', async (_, request, name) => {
    await expect(sns.send(new PublishCommand(request))).rejects.toMatchObject({ name });
    expect(published).toEqual([]);
  });
});

it('STS names the caller after its access key', async () => {
  const sts = new STSClient(local.client);
  expect(await sts.send(new GetCallerIdentityCommand())).toMatchObject({
    Arn: 'arn:aws:iam::000000000000:user/local-test',
    Account: '000000000000',
  });
});

const jsonTarget = (target: string) => ({ path: '/', headers: { 'x-amz-target': target }, body: '{}' });
const query = (version: string) => ({ path: '/', headers: {}, body: `Action=Any&Version=${version}` });
const services: [
  service: string,
  request: { path: string; headers: Record<string, string>; body: string },
  status: number,
  code: string,
][] = [
  ['sqs', jsonTarget('AmazonSQS.PurgeQueue'), 400, 'InvalidSignatureException'],
  [
    'lambda',
    { path: '/2015-03-31/functions/a/invocations', headers: {}, body: '{}' },
    403,
    'InvalidSignatureException',
  ],
  ['ses', query('2010-12-01'), 403, 'SignatureDoesNotMatch'],
  ['cloudformation', query('2010-05-15'), 403, 'SignatureDoesNotMatch'],
];
const send = async ({ path, headers, body }: (typeof services)[number][1], scope: string) => {
  const authorization = `AWS4-HMAC-SHA256 Credential=key/20260101/${scope}/aws4_request, SignedHeaders=a, Signature=b`;
  const url = local.client.endpoint + path;
  const response = await fetch(url, { method: 'POST', headers: { ...headers, authorization }, body });
  return { status: response.status, text: await response.text() };
};

it.each(services)(
  'a request that is signed for another service or region is refused by %s as AWS does',
  async (service, request, status, code) => {
    const refused = await send(request, 'us-east-1/execute-api');
    expect(refused.status).toBe(status);
    expect(refused.text).toContain(code);
    expect(refused.text.replaceAll('&#39;', "'")).toContain(
      `Credential should be scoped to correct service: '${service}'. `,
    );
    expect((await send(request, `us-east-1/${service}`)).text).not.toContain('Credential');
    expect((await send(request, `eu-west-1/${service}`)).text).toContain(
      'Credential should be scoped to a valid region. ',
    );
  },
);

describe('the endpoint', () => {
  it('returns 400 for unsigned and malformed requests', async () => {
    for (const init of [
      {},
      { method: 'POST', body: 'nonsense' },
      { method: 'PUT', headers: { 'x-amz-target': 'A' } },
    ]) {
      expect((await fetch(local.client.endpoint, init)).status).toBe(400);
    }
  });

  it('injects errors in the protocol of the service', async () => {
    local.endpoint.fault = ({ service }) =>
      service === 'sns'
        ? { status: 400, type: 'Throttled', message: 'Rate exceeded' }
        : { status: 400, type: 'ProvisionedThroughputExceededException', message: 'Slow down' };
    await expect(sns.send(new PublishCommand({ PhoneNumber: '+14155550100', Message: 'a' }))).rejects.toMatchObject({
      name: 'ThrottledException',
      message: 'Rate exceeded',
    });
    await expect(dynamodb.send(new GetItemCommand({ TableName: 'a', Key: {} }))).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
      message: 'Slow down',
    });
  });

  describe('with a response fault', () => {
    const TableName = 'responses';
    const Item = { pk: { S: 'a' } };
    const stored = async () => (await dynamodb.send(new GetItemCommand({ TableName, Key: Item }))).Item;
    const put = () => dynamodb.send(new PutItemCommand({ TableName, Item }));
    beforeAll(() => {
      const keys = [{ AttributeName: 'pk', KeyType: 'HASH' as const }];
      return createTable(dynamodb, {
        name: TableName,
        keys,
        attributes: [{ AttributeName: 'pk', AttributeType: 'S' }],
      });
    });
    beforeEach(() => dynamodb.send(new DeleteItemCommand({ TableName, Key: Item })));
    const puts =
      (fault: Exclude<ReturnType<Fault>, undefined>): Fault =>
      ({ action }) =>
        action === 'PutItem' ? fault : undefined;

    it('applies the call and delays its response', async () => {
      local.endpoint.fault = puts({ response: 'late', delayMs: 60 });
      const startedAtMs = performance.now();
      const putting = put();
      while (!(await stored())) await new Promise(setImmediate);
      await putting;
      expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(55);
    });

    it('applies the call and closes the connection', async () => {
      local.endpoint.fault = puts({ response: 'lost' });
      await expect(put()).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect(await stored()).toEqual(Item);
    });
  });
});
