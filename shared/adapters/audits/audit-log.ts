import { type DynamoDBDocumentClient, PutCommand, type PutCommandInput } from '@aws-sdk/lib-dynamodb';
import { type AuditedChange, type ChangeContext, parseStoredAudit, type StoredAudit } from '../../contracts/audit.ts';
import { auditPartition, firstAuditId, newAuditId } from '../../domain/audit.ts';
import type { Clock } from '../../domain/time.ts';
import { DAY_SECONDS } from '../../domain/time.ts';
import { queryItems, sortKeyOf } from '../dynamodb/items.ts';

/** Who changes the data of which tenant. Without a tenant, an operator changes the whole stack. */
export type Changer = { readonly tenant?: string; readonly context: ChangeContext };

/** Returns the part of a transaction that records a change: a new entry at each call. */
export type Audit = (change: AuditedChange) => { Put: PutCommandInput };

/** Writes audit entries (table Audits, docs/decisions/storage.md#audit). */
export const createAuditLog = (
  client: DynamoDBDocumentClient,
  { AUDITS_TABLE, AUDIT_RETENTION_DAYS }: { AUDITS_TABLE: string; AUDIT_RETENTION_DAYS: number },
  clock: Clock = Date.now,
) => {
  const by =
    ({ tenant, context }: Changer): Audit =>
    (change) => {
      const nowMs = clock();
      const ttl = Math.ceil(nowMs / 1000) + AUDIT_RETENTION_DAYS * DAY_SECONDS;
      const Item = { pk: auditPartition(tenant), sk: newAuditId(nowMs), ...change, ...context, ttl };
      return { Put: { TableName: AUDITS_TABLE, Item } };
    };

  return {
    by,

    /** Records what changes no table. Call it before the change, so that none happens without an entry. */
    async record(changer: Changer, change: AuditedChange): Promise<void> {
      await client.send(new PutCommand(by(changer)(change).Put));
    },
  };
};

export type AuditLog = ReturnType<typeof createAuditLog>;

/** The times of the entries to read, in ms since the epoch, both included. */
export type AuditRange = { fromMs: number; toMs: number; isReverse: boolean };

type AuditPage = AuditRange & { start: string | null; pageSize: number };

/** Reads audit entries (table Audits), strongly consistent. */
export const createAuditReader = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => ({
  /** Yields unexpired entries, oldest first unless `isReverse`. Without a tenant: those of the stack. Reads lazily. */
  async *list(
    tenant: string | undefined,
    { fromMs, toMs, isReverse, start, pageSize }: AuditPage,
  ): AsyncGenerator<StoredAudit> {
    const position = sortKeyOf(start);
    const [oldest, newest] = [firstAuditId(fromMs), firstAuditId(toMs + 1)];
    const lower = position !== undefined && !isReverse && position > oldest ? position : oldest;
    const upper = position !== undefined && isReverse && position < newest ? position : newest;
    // DynamoDB rejects an empty range.
    if (lower > upper) return;
    const items = queryItems(client, {
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :lower AND :upper',
      // TTL deletes items late.
      FilterExpression: '#ttl > :now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: {
        ':pk': auditPartition(tenant),
        ':lower': lower,
        ':upper': upper,
        ':now': clock() / 1000,
      },
      ScanIndexForward: !isReverse,
      ConsistentRead: true,
      Limit: pageSize,
    });
    for await (const item of items) yield parseStoredAudit(item);
  },
});
