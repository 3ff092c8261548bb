import { DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  chargesCancelledTransactions,
  countsDeletedItems,
  createProbeTable,
  reusesTokensOfCancelled,
} from 'local-aws/test/support/transaction-probes.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** A table of its own, in the account and region of the credentials. */
const TableName = `MonitoringNotifications-transactions-${crypto.randomUUID()}`;
const client = new DynamoDBClient({ maxAttempts: 10 });
const withoutRetries = new DynamoDBClient({ maxAttempts: 1 });

beforeAll(() => createProbeTable(client, TableName));
afterAll(async () => {
  await client.send(new DeleteTableCommand({ TableName }));
  client.destroy();
  withoutRetries.destroy();
});

/** What AWS does not document. If AWS differs, change bin/local-aws/dynamodb accordingly. */
describe('transactions of AWS, like those of the local stack,', () => {
  it('count the items that they delete towards 4 MB', async () => {
    expect(await countsDeletedItems(client, TableName)).toBe(true);
  });

  it('consume capacity although they are cancelled', async () => {
    expect(await chargesCancelledTransactions(withoutRetries, TableName)).toBe(true);
  });

  it('can be applied with their token after they were cancelled', async () => {
    expect(await reusesTokensOfCancelled(client, TableName)).toBe(true);
  });
});
