import { pluralize, sanitize } from '../print.ts';
import type { ImportedNotification, ImportResult, TenantImport } from './import.ts';

/** The results in the order of a summary. */
const results = ['created', 'updated', 'unchanged', 'differs'] as const satisfies ImportResult[];

/** Returns the map of IDs as tab-separated values, which are never shortened. */
export const describeMap = (notifications: readonly ImportedNotification[]): string =>
  [
    'old_id\tnew_id\tresult',
    ...notifications.map(({ old_id, new_id, result }) => `${old_id}\t${new_id}\t${result}`),
  ].join('\n');

/** Returns the refused records, what differs, and a summary, one per line. */
export const describeImport = ({ notifications, account, refused }: TenantImport, isDryRun: boolean): string => {
  const counts = results.flatMap((result) => {
    const count = notifications.filter((each) => each.result === result).length;
    return count > 0 ? [`${count} ${result}`] : [];
  });
  const hasDifferences = [...notifications, ...account].some(({ result }) => result === 'differs');
  return [
    ...refused.map(({ source, old_id, error }) =>
      [source, ...(old_id === undefined ? [] : [old_id]), error].map(sanitize).join(': '),
    ),
    ...account.map(({ attribute, result }) => `account ${attribute}: ${result}`),
    ...(hasDifferences ? ['What differs was not changed: --update replaces it.'] : []),
    `${isDryRun ? 'Dry run, nothing was changed. ' : ''}${pluralize(notifications.length, 'notification')}: ${
      counts.join(', ') || 'none'
    }; ${pluralize(refused.length, 'record')} refused.`,
  ].join('\n');
};
