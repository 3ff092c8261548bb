import { type DynamoDBDocumentClient, PutCommand, type PutCommandInput } from '@aws-sdk/lib-dynamodb';
import type { AuditedChange, ChangeContext } from '../../contracts/audit.ts';
import { auditPartition, newAuditId } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { DAY_SECONDS } from '../../domain/day.ts';

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
    /** Returns what records the changes of one request or command, in their transactions. */
    by,

    /** Records what changes no table. Call it before the change, so that none happens without an entry. */
    async record(changer: Changer, change: AuditedChange): Promise<void> {
      await client.send(new PutCommand(by(changer)(change).Put));
    },
  };
};

/** Writes audit entries. */
export type AuditLog = ReturnType<typeof createAuditLog>;
