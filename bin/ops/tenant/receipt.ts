import { writeFileSync } from 'node:fs';
import { DAY_MS } from '../../../shared/domain/day.ts';
import { errorSummary } from '../errors.ts';
import { isoTime, toJson } from '../print.ts';
import type { Session } from '../session.ts';
import { countTenant, type Deletion, type DeletionOptions, deleteTenant } from './deletion.ts';
import { createFile } from './output.ts';

/** The version of the format. It increases if a field is removed or changes its meaning. */
const FORMAT = 2;

/** How long DynamoDB keeps the data for point-in-time recovery (AWS limit). */
const RECOVERY_DAYS = 35;

/** How long SQS keeps dead letters. */
const DEAD_LETTER_DAYS = 14;

const countsOf = ({ items, deadLetters }: Deletion) => ({ items, dead_letters: deadLetters });

/** Returns what the deletion does not reach, and until when it exists; null if the service does not know. */
const keptAfter = ({ deployment }: Session, nowMs: number) => {
  const { AuditRetentionDays, Settings } = deployment.outputs;
  const inDays = (days: number): string => isoTime(nowMs + days * DAY_MS);
  return [
    { what: 'backups of all tables for point-in-time recovery', until: inDays(RECOVERY_DAYS) },
    { what: 'IDs in logs and in the report of failing tenants', until: inDays(Settings.logRetentionDays) },
    { what: 'dead letters that are not JSON and have no message group', until: inDays(DEAD_LETTER_DAYS) },
    { what: 'the audit entry of the deletion', until: inDays(AuditRetentionDays) },
    { what: 'copies at destinations, in SES, SNS and mailboxes, and exports', until: null },
  ];
};

/**
 * Deletes a tenant like `deleteTenant`, and counts its data before and after it. Keeps a receipt up to date in a new
 * file from the start: after a failure it has the error, and after a crash the result `unfinished`.
 *
 * @throws OperationError if the file exists or cannot be created, before anything is deleted; the error of the deletion
 */
export const deleteWithReceipt = async (
  session: Session,
  tenant: string,
  path: string,
  options: DeletionOptions,
): Promise<Deletion> => {
  createFile(path).close();
  const deleted: Deletion = { items: {}, deadLetters: {} };
  const { name, target } = session.deployment;
  let receipt: object = {
    format: FORMAT,
    tenant_id: tenant,
    stack: name,
    target,
    started_at: isoTime(options.timing.now()),
  };
  const update = (changes: object): void => {
    receipt = { ...receipt, ...changes };
    writeFileSync(path, `${toJson(receipt, undefined, 2)}\n`);
  };
  const end = (changes: object): void => {
    const nowMs = options.timing.now();
    update({ deleted: countsOf(deleted), ended_at: isoTime(nowMs), ...changes, kept: keptAfter(session, nowMs) });
  };
  update({ result: 'unfinished' });
  try {
    update({ operator: await session.operator() });
    update({ before: countsOf(await countTenant(session, tenant, options)) });
    await deleteTenant(session, tenant, options, deleted);
    end({ result: 'completed', after: countsOf(await countTenant(session, tenant, options)) });
    return deleted;
  } catch (error) {
    end({ result: 'failed', error: errorSummary(error) });
    throw error;
  }
};
