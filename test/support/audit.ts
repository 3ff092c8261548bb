import { ulid } from 'ulid';
import type { Audit } from '../../shared/adapters/audits/audit-log.ts';

/** Records changes in a table for an hour, in a partition of no tenant. */
export const auditIn =
  (TableName: string): Audit =>
  (change) => ({
    Put: { TableName, Item: { pk: 'test', sk: ulid(), ...change, ttl: Math.ceil(Date.now() / 1000) + 3_600 } },
  });

/** Records changes in the table of `useDatabase`. */
export const audit = auditIn('audits');
