import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../domain/clock.ts';
import { optOutHash, type Recipient, shortOptOutHash } from '../../domain/opt-out.ts';
import type { Audit } from '../audits/audit-log.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { FailedConditionsError, type TransactItem, transact } from '../dynamodb/transactions.ts';

const keyOf = (recipient: Recipient) => ({ pk: `opt_out#${optOutHash(recipient)}#${recipient.tenant}` });

/**
 * Creates the access to opt-outs (table Accounts): the item of a tenant and the hash of an address has
 * `opted_out_at_ms`, and `confirmed_at_ms` from when its last email is sent.
 */
export const createOptOuts = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const update = createConditionalUpdate(client, table);

  /** @returns false if the condition of the change failed */
  const change = async (item: TransactItem, entry: TransactItem): Promise<boolean> => {
    try {
      await transact(client, [item, entry]);
      return true;
    } catch (error) {
      if (error instanceof FailedConditionsError) return false;
      throw error;
    }
  };

  return {
    /** Returns the addresses that have not opted out of the emails of a tenant. Strongly consistent. */
    async remaining(tenant: string, addresses: readonly string[]): Promise<string[]> {
      const keys = new Set(addresses.map((address) => keyOf({ tenant, address }).pk));
      const found = await batchGet(
        client,
        table,
        [...keys].map((pk) => ({ pk })),
        { ProjectionExpression: 'pk' },
      );
      const optedOut = new Set(found.map(({ pk }) => pk));
      return addresses.filter((address) => !optedOut.has(keyOf({ tenant, address }).pk));
    },

    /**
     * Stores an opt-out with its audit entry, unless it is stored.
     *
     * @throws UnconfirmedChangeError
     */
    async optOut(recipient: Recipient, audit: Audit): Promise<void> {
      const Item = { ...keyOf(recipient), opted_out_at_ms: clock() };
      const entry = audit({ action: 'opt-out', target_id: shortOptOutHash(recipient) });
      await change({ Put: { TableName: table, Item, ConditionExpression: 'attribute_not_exists(pk)' } }, entry);
    },

    /**
     * Removes an opt-out with its audit entry, if there is one.
     *
     * @returns whether there was one
     * @throws UnconfirmedChangeError
     */
    undo: (recipient: Recipient, audit: Audit): Promise<boolean> =>
      change(
        { Delete: { TableName: table, Key: keyOf(recipient), ConditionExpression: 'attribute_exists(pk)' } },
        audit({ action: 'undo-opt-out', target_id: shortOptOutHash(recipient) }),
      ),

    /** Returns whether the last email of an opt-out must be sent: only to the first caller. */
    async claimLastEmail(recipient: Recipient): Promise<boolean> {
      const { isWritten } = await update(keyOf(recipient), {
        UpdateExpression: 'SET confirmed_at_ms = :now',
        ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(confirmed_at_ms)',
        ExpressionAttributeValues: { ':now': clock() },
      });
      return isWritten;
    },

    /** Lets another caller send the last email, which was certainly not sent. */
    async releaseLastEmail(recipient: Recipient): Promise<void> {
      await update(keyOf(recipient), {
        UpdateExpression: 'REMOVE confirmed_at_ms',
        ConditionExpression: 'attribute_exists(pk)',
      });
    },
  };
};

/** Reads and changes opt-outs. */
export type OptOuts = ReturnType<typeof createOptOuts>;
