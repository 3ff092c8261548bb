import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import { DAY_SECONDS, utcDay } from '../../domain/day.ts';
import {
  CODE_VALIDITY_MS,
  MAX_CODE_TRIES,
  MAX_CODES_PER_DAY,
  mailboxHash,
  matchesCode,
  newCode,
  recipientHashOf,
} from '../../domain/recipient.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import type { Item } from '../dynamodb/items.ts';
import { FailedConditionsError, type TransactItem, transact } from '../dynamodb/transactions.ts';

/*
 * The recipients of tenants (table Accounts, docs/decisions/storage.md#recipients). Addresses are hashed:
 *
 *   `recipient#<hash>#<tenant>`  the newest code with its tries, or the time of the verification, which has no end
 *   `codes#<UTC day>#<hash>`     how many codes were sent to a mailbox or phone number, of all tenants
 */

const recipientKey = (tenant: string, address: string) => ({
  pk: `recipient#${recipientHashOf(tenant, address)}#${tenant}`,
});

const storedRecipient = z.object({
  pk: z.string(),
  verified_at_ms: z.optional(z.number()),
  code_hash: z.optional(z.string()),
  salt: z.optional(z.string()),
  tries: z._default(z.number(), 0),
  expires_at_ms: z.optional(z.number()),
});

/** Whether a recipient is verified, or has a code that can still be entered. */
type RecipientState = 'verified' | 'pending' | 'unverified';

/** A new code, or why there is none: the recipient needs none, or has got as many as it may have today. */
export type IssuedCode = { kind: 'issued'; code: string } | { kind: 'not_needed' } | { kind: 'limit' };

/** What a code has led to. `no_code`: none is valid, because it is used up, expired, or was never sent. */
export type TriedCode = { kind: 'verified' } | { kind: 'wrong'; triesLeft: number } | { kind: 'no_code' };

/** Creates the verification of recipients: of a tenant, for all its notifications and technical contacts. */
export const createRecipients = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const update = createConditionalUpdate(client, table);

  const stateOf = (item: Item): RecipientState => {
    const { verified_at_ms, tries, expires_at_ms = 0 } = storedRecipient.parse(item);
    if (verified_at_ms !== undefined) return 'verified';
    return expires_at_ms > clock() && tries < MAX_CODE_TRIES ? 'pending' : 'unverified';
  };

  /** Returns the function that returns the state of one of the addresses, strongly consistent. */
  const read = async (tenant: string, addresses: readonly string[]): Promise<(address: string) => RecipientState> => {
    const keyOf = (address: string) => recipientKey(tenant, address).pk;
    const keys = [...new Set(addresses.map(keyOf))].map((pk) => ({ pk }));
    const states = new Map((await batchGet(client, table, keys)).map((item) => [item.pk, stateOf(item)]));
    return (address) => states.get(keyOf(address)) ?? 'unverified';
  };

  const isVerified = async (tenant: string, address: string): Promise<boolean> =>
    (await read(tenant, [address]))(address) === 'verified';

  return {
    read,
    isVerified,

    /**
     * Creates a code for a recipient, which replaces an earlier one, and counts it toward the codes of the day.
     *
     * @param replaces false to keep a code that can still be entered
     * @throws UnconfirmedChangeError
     */
    async issue(tenant: string, address: string, replaces: boolean): Promise<IssuedCode> {
      const nowMs = clock();
      const { code, stored } = newCode();
      const expiresAtMs = nowMs + CODE_VALIDITY_MS;
      const isMissing = 'attribute_not_exists(expires_at_ms) OR expires_at_ms <= :now OR tries >= :max';
      const Code: TransactItem = {
        Update: {
          TableName: table,
          Key: recipientKey(tenant, address),
          UpdateExpression: 'SET code_hash = :hash, salt = :salt, tries = :none, expires_at_ms = :expires, #ttl = :ttl',
          ConditionExpression: `attribute_not_exists(verified_at_ms)${replaces ? '' : ` AND (${isMissing})`}`,
          ExpressionAttributeNames: { '#ttl': 'ttl' },
          ExpressionAttributeValues: {
            ':hash': stored.code_hash,
            ':salt': stored.salt,
            ':none': 0,
            ':expires': expiresAtMs,
            ':ttl': Math.ceil(expiresAtMs / 1000),
            ...(!replaces && { ':now': nowMs, ':max': MAX_CODE_TRIES }),
          },
        },
      };
      const Count: TransactItem = {
        Update: {
          TableName: table,
          Key: { pk: `codes#${utcDay(nowMs)}#${mailboxHash(address)}` },
          UpdateExpression: 'SET #ttl = :ttl ADD used :one',
          ConditionExpression: 'attribute_not_exists(used) OR used < :limit',
          ExpressionAttributeNames: { '#ttl': 'ttl' },
          ExpressionAttributeValues: {
            ':ttl': Math.floor(nowMs / 1000) + 2 * DAY_SECONDS,
            ':one': 1,
            ':limit': MAX_CODES_PER_DAY,
          },
        },
      };
      try {
        await transact(client, [Code, Count]);
        return { kind: 'issued', code };
      } catch (error) {
        if (!(error instanceof FailedConditionsError)) throw error;
        return { kind: error.indexes.includes(0) ? 'not_needed' : 'limit' };
      }
    },

    /**
     * Verifies a recipient if this is its code. The try counts before the comparison, so that concurrent ones have no
     * more than ten together; if its response is lost and the SDK repeats it, it may count twice.
     *
     * @param entry records the verification in the same transaction
     * @throws UnconfirmedChangeError
     */
    async tryCode(tenant: string, address: string, code: string, entry: TransactItem): Promise<TriedCode> {
      const key = recipientKey(tenant, address);
      const counted = await update(key, {
        UpdateExpression: 'ADD tries :one',
        ConditionExpression: 'tries < :max AND expires_at_ms > :now',
        ExpressionAttributeValues: { ':one': 1, ':max': MAX_CODE_TRIES, ':now': clock() },
      });
      if (!counted.isWritten) {
        const isDone = counted.existing !== undefined && stateOf(counted.existing) === 'verified';
        return { kind: isDone ? 'verified' : 'no_code' };
      }
      const { code_hash = '', salt = '', tries } = storedRecipient.parse(counted.item);
      if (!matchesCode(code, { code_hash, salt })) return { kind: 'wrong', triesLeft: MAX_CODE_TRIES - tries };
      const Update = {
        TableName: table,
        Key: key,
        UpdateExpression: 'SET verified_at_ms = :now REMOVE code_hash, salt, tries, expires_at_ms, #ttl',
        ConditionExpression: 'code_hash = :hash',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':now': clock(), ':hash': code_hash },
      };
      try {
        await transact(client, [{ Update }, entry]);
        return { kind: 'verified' };
      } catch (error) {
        if (!(error instanceof FailedConditionsError)) throw error;
        // Another request has entered the code, or replaced it.
        return { kind: (await isVerified(tenant, address)) ? 'verified' : 'no_code' };
      }
    },
  };
};

/** The verification of recipients. */
export type Recipients = ReturnType<typeof createRecipients>;
