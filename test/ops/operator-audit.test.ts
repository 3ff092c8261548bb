import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliveryRecord } from '../support/delivery-records.ts';
import { useStarted } from '../support/use-started.ts';
import { AwsFailure, callerIdentity, PRINCIPAL, startAwsStub } from './aws-stub.ts';
import { commandLine, useDirectory } from './command-line.ts';

const directory = useDirectory();
const run = commandLine(directory);

/** The actions that write audit entries. */
const AUDITED = ['PutItem', 'TransactWriteItems'];

/** The bodies of the writes to DynamoDB and of the other changes, by action, in order. */
const changes: { action: string; body: string }[] = [];
const stsFailure = new AwsFailure('ExpiredToken', 'The token has expired.');
let isExpired = false;
const waiting = deliveryRecord({ tenant: 'acme', id: 'ntA' }, 'event', {
  status: 'pending',
  next_attempt_at_ms: Date.UTC(2100, 0, 1),
});
const record = (action: string) => (body: string) => {
  changes.push({ action, body });
  return {};
};
const aws = useStarted(
  () =>
    startAwsStub({
      GetCallerIdentity: () => (isExpired ? stsFailure : callerIdentity),
      TransactWriteItems: record('TransactWriteItems'),
      PutItem: record('PutItem'),
      PurgeQueue: record('PurgeQueue'),
      UpdateItem: record('UpdateItem'),
      BatchGetItem: () => ({ Responses: {} }),
      GetItem: (body) => {
        if (body.includes('email_stop#')) return { Item: marshall({ opted_out_at_ms: 1 }) };
        return body.includes('account#') ? { Item: marshall({ pk: 'account#acme' }) } : {};
      },
      // A filter selects deliveries.
      Query: (body) => (body.includes('FilterExpression') ? { Items: [marshall(waiting)] } : {}),
    }),
  ({ stop }) => stop(),
);
const ops = (command: string) => run(`${command} --stack Prod`, { env: aws.env });

beforeEach(() => {
  changes.length = 0;
  isExpired = false;
});
afterEach(() => {
  expect(aws.stub.refused.splice(0)).toEqual([]);
});

const commands = [
  ['token create --tenant acme --role admin --label marker', 'create-token', 'audit#acme'],
  ['account limits acme smsPerTenantPerDay=7', 'update-account', 'audit#acme'],
  ['account email off acme --why x', 'update-account', 'audit#acme'],
  ['account shadow acme on --for 1h --yes', 'update-account', 'audit#acme'],
  ['account recount acme', 'recount-notifications', 'audit#acme'],
  ['deliveries --tenant acme --notification ntA --status pending --retry-now', 'redeliver', 'audit#acme'],
  ['opt-outs undo acme oncall@marker.example', 'resume-email', 'audit#acme'],
  ['dead-letters redrive sms', 'redrive-dead-letters', 'operators'],
  ['dead-letters purge sms --yes', 'purge-dead-letters', 'operators'],
  ['tenant delete acme --yes', 'delete-tenant', 'operators'],
] as const;

/** Returns the audit entries in a request. */
const entriesIn = (body: string): unknown[] => {
  const { TransactItems, ...single } = JSON.parse(body);
  const puts: unknown[] = TransactItems ? TransactItems.map(({ Put }: { Put: unknown }) => Put) : [single];
  return puts.filter((put) => Object(put).TableName === 'audits');
};

describe('an operator', () => {
  it.each(commands)('who runs %s is recorded by IAM principal, with the reason', async (command, action, partition) => {
    await ops(`${command} --why INC-7\u0007`);
    const entries = changes.filter(({ action: name }) => AUDITED.includes(name)).flatMap(({ body }) => entriesIn(body));
    expect(entries).toEqual([
      expect.objectContaining({
        Item: expect.objectContaining({
          pk: { S: partition },
          action: { S: action },
          actor: { M: { type: { S: 'operator' }, principal: { S: PRINCIPAL } } },
          why: { S: 'INC-7\ufffd' },
        }),
      }),
    ]);
    expect(JSON.stringify(entries)).not.toContain('marker');
  });

  it('cannot give a reason longer than the audit keeps', async () => {
    const { code, err } = await ops(`account recount acme --why ${'x'.repeat(256)}`);
    expect([code, err]).toEqual([2, expect.stringContaining('It must have 1 to 255 characters.')]);
  });

  it('is recorded before what changes no table', async () => {
    await ops('dead-letters purge sms --yes');
    await ops('deliveries --tenant acme --notification ntA --status pending --retry-now');
    expect(changes.map(({ action }) => action)).toEqual(['PutItem', 'PurgeQueue', 'PutItem', 'UpdateItem']);
  });

  it.each(commands)('whose IAM principal is unknown changes nothing: %s', async (command) => {
    isExpired = true;
    const { code, err } = await ops(command);
    expect([code, err]).toEqual([1, expect.stringContaining('The AWS credentials have expired')]);
    expect(changes).toEqual([]);
  });
});
