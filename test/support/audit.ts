import type { Audit } from '../../shared/adapters/audits/audit-log.ts';
import { auditPartition, newAuditId } from '../../shared/domain/audit.ts';

const actor = { type: 'operator', principal: 'test' };

/** How long entries are kept: longer than any test advances the clock. */
const RETENTION_SECONDS = 90 * 86_400;

/** Records changes of a tenant in a table. */
export const auditIn =
  (TableName: string, tenant = 'test'): Audit =>
  (change) => {
    const nowMs = Date.now();
    const ttl = Math.ceil(nowMs / 1_000) + RETENTION_SECONDS;
    return { Put: { TableName, Item: { pk: auditPartition(tenant), sk: newAuditId(nowMs), ...change, actor, ttl } } };
  };

/** Records changes in the table of `useDatabase`. */
export const audit = auditIn('audits');
