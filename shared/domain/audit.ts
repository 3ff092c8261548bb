import { decodeTime, encodeTime } from 'ulid';
import type { StoredAudit } from '../contracts/audit.ts';
import type { AuditRecord } from '../contracts/responses/tokens-and-audits.ts';
import { isPrefixedUlid, ulid } from './ulid.ts';

const PREFIX = 'au';
const TIME_LENGTH = 10;

/** @param tenant undefined: what concerns the whole stack */
export const auditPartition = (tenant: string | undefined): string =>
  tenant === undefined ? 'operators' : `audit#${tenant}`;

/** `au` and a ULID, so IDs sort by time. @param nowMs ms since the epoch */
export const newAuditId = (nowMs: number): string => PREFIX + ulid(nowMs);

export const isAuditId = (text: string): boolean => isPrefixedUlid(PREFIX, text);

/** Sorts before the IDs of this time and later, and after all others. @param timeMs since the epoch */
export const firstAuditId = (timeMs: number): string => PREFIX + encodeTime(timeMs, TIME_LENGTH);

/** As tenants see it: without the IAM principal of an operator. */
export const auditRecord = (stored: StoredAudit): AuditRecord => {
  const { id, action, target_id = null, changed, actor } = stored;
  const { request_id = null, ip_address = null, who = null, why = null } = stored;
  return {
    id,
    timestamp: decodeTime(id.slice(PREFIX.length)),
    action,
    target_id,
    changed,
    actor: actor.type === 'token' ? actor : { type: actor.type, id: null, label: null },
    request_id,
    ip_address,
    who,
    why,
  };
};

/** The order of keys within an attribute counts. @param names all by default */
export const changedAttributes = (
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  names = Object.keys({ ...before, ...after }),
): string[] => names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
