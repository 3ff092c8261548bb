import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AWS_PARTITION_LIMITS } from '../../dynamodb/partition-capacity.ts';
import { startDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import {
  chargesCancelledTransactions,
  countsDeletedItems,
  createProbeTable,
  reusesTokensOfCancelled,
} from '../support/transaction-probes.ts';

let local: TestDynamoDb;
beforeEach(async () => {
  local = await startDynamoDb(AWS_PARTITION_LIMITS);
  await createProbeTable(local.client, 'probe');
});
afterEach(() => local.stop());

/** `npm run test:deployed` expects the same of AWS. */
describe('transactions of the local stack', () => {
  it('count the items that they delete towards 4 MB', async () => {
    expect(await countsDeletedItems(local.client, 'probe')).toBe(true);
  });

  it('consume capacity although they are cancelled', async () => {
    expect(await chargesCancelledTransactions(local.client, 'probe')).toBe(true);
  });

  it('can be applied with their token after they were cancelled', async () => {
    expect(await reusesTokensOfCancelled(local.client, 'probe')).toBe(true);
  });
});
