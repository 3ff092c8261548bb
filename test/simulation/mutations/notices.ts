import type { NamedMutation } from './named-mutation.ts';

const REPORT = 'shared/pipeline/sender/failure-report.ts';
const RECORD = 'shared/domain/delivery-record.ts';
const UNREACHED = 'shared/pipeline/notices/unreached-notice.ts';
const CHECK = 'shared/pipeline/notices/unreached-check.ts';
const REPORTS = 'shared/pipeline/notices/delivery-reports.ts';
const EMAIL = 'shared/pipeline/transports/email.ts';

/** Defects of notices, escalations and emails to several contacts. */
export const noticeMutations: readonly NamedMutation[] = [
  {
    name: 'does not escalate a CRITICAL in the hour in which it escalated an OK of the alarm',
    seed: 'an OK reaches nobody, and then a CRITICAL of the alarm',
    file: UNREACHED,
    find: '${key.slice(0, INCIDENT_KEY_LENGTH)}-${event.state}:',
    replace: '${key.slice(0, INCIDENT_KEY_LENGTH)}:',
  },
  {
    name: 'escalates only the first failed summary of an hour',
    seed: 3,
    file: UNREACHED,
    find: '? [eventHash(event), eventIdTimeMs(event.event_id) ?? 0]',
    replace: '? [event.incident_key, startOf(HOUR_MS, atMs)]',
  },
  {
    name: 'hides a CRITICAL of a deleted notification behind a newer WARNING of the alarm',
    seed: 'an email notification is deleted while a summary of several states of an alarm waits',
    file: REPORTS,
    find: '({ event }) => `${event.incident_key} ${event.state}`',
    replace: '({ event }) => event.incident_key',
  },
  {
    name: 'does not escalate an alert of which a summary fails',
    seed: 41,
    file: CHECK,
    find: "if (record.status !== 'summarized' || record.summary_id === undefined || hasReachedRecipient(record)) return [];",
    replace:
      "if (record.status !== 'failed' || record.summary_id === undefined || hasReachedRecipient(record)) return [];",
  },
  {
    name: 'escalates an alert although it has reached another destination',
    seed: 'one of three destinations is reached',
    file: CHECK,
    find: "if (![...records.values()].every((record) => isUnreached(record, scale))) return 'reached';",
    replace:
      "if (records.size > 0 && ![...records.values()].some((record) => isUnreached(record, scale))) return 'reached';",
  },
  {
    name: 'does not escalate an event whose other delivery was never sent, because its notification was deleted first',
    seed: 201208,
    file: REPORTS,
    find: "if (others === 'unattempted') return false;",
    replace: "if (others === 'unattempted') return true;",
  },
  {
    name: 'acknowledges the message of an ended delivery whose failure could not be reported',
    seed: 'the notices of rejected alerts cannot be queued',
    file: 'shared/pipeline/sender/batch.ts',
    find: "result.record?.status !== 'pending' && result.kind !== 'summarized' && result.kind !== 'unrecorded';",
    replace: 'result.record === undefined;',
  },
  {
    name: 'does not escalate an alert that failed for good after its retries',
    seed: 'a webhook fails in all attempts',
    file: RECORD,
    find: "if (status === 'failed' || status === 'bounced') return reported_status !== status;",
    replace: "if (status === 'failed' || status === 'bounced') return reported_status === undefined;",
  },
  {
    name: 'does not escalate an alert whose last destination is rejected',
    seed: 1,
    file: RECORD,
    find: "return record.status === 'failed' || isCancelled || isFailing(record, scale);",
    replace: 'return isCancelled || isFailing(record, scale);',
  },
  {
    name: 'does not escalate an alert whose notification was deleted while it failed',
    seed: 89,
    file: RECORD,
    find: "const isCancelled = record.status === 'cancelled' && !isShadow(record);",
    replace: 'const isCancelled = false;',
  },
  {
    name: 'reports only failures of attempts, none that it finds recorded',
    seed: 'senders are ended when alerts were rejected',
    file: REPORT,
    find: '|| !mustBeReported(record',
    replace: '|| !result.claimed || !mustBeReported(record',
  },
  {
    name: 'does not escalate an alert while the next attempt of a failing delivery is requested to be made now',
    seed: 14,
    file: RECORD,
    find: 'Math.max(next_attempt_at_ms, scheduled_attempt_at_ms) - round',
    replace: 'Math.min(next_attempt_at_ms, scheduled_attempt_at_ms || next_attempt_at_ms) - round',
  },
  {
    name: 'does not store the list of the notifications of a large plan',
    seed: 193,
    file: 'shared/pipeline/dispatch/fan-out.ts',
    find: 'if (targets.length > 0 && !listed) await storeDestinations(planned);',
    replace: 'if (targets.length === 0 && !listed) await storeDestinations(planned);',
  },
  {
    name: 'stores one notification of a large plan',
    seed: 1498,
    file: 'shared/adapters/deliveries/destination-list.ts',
    find: 'notification_ids: ids.filter(isNotificationId),',
    replace: 'notification_ids: ids.filter(isNotificationId).slice(0, 1),',
  },
  {
    name: 'does not find that the other destinations of an alert have just failed',
    seed: 1128,
    file: 'shared/adapters/dynamodb/batches.ts',
    find: 'ConsistentRead: true, ...options',
    replace: 'ConsistentRead: false, ...options',
  },
  {
    name: 'reports no failure of a second round',
    seed: 'an alert fails again after it was redelivered',
    file: RECORD,
    find: '  reported_status: undefined,\n',
    replace: '',
  },
  {
    name: 'does not send escalations to the fallback notifications of the account',
    seed: 5,
    file: 'shared/pipeline/notices/escalation.ts',
    find: "state === 'OK'",
    replace: "state !== 'OK'",
  },
  {
    name: 'sends the notice of a failing notification every hour',
    seed: 17,
    file: 'shared/pipeline/notices/notification-notice.ts',
    find: '`${tenant}:${notificationId}:${startOf(DAY_MS, atMs)}:${kind}`',
    replace: '`${tenant}:${notificationId}:${startOf(DAY_MS / 24, atMs)}:${kind}`',
  },
  {
    name: 'sends an email again to a contact that an earlier attempt reached',
    seed: 3,
    file: EMAIL,
    find: 'return { ...combined, reachedRecipientHashes: [...reachedRecipientHashes, ...newlyReached] };',
    replace: 'return { ...combined, reachedRecipientHashes: newlyReached };',
  },
  {
    name: 'does not retry a contact if the email to another one is rejected',
    seed: 10,
    file: EMAIL,
    find: `      failures.find(({ result }) => result !== 'permanent') ??
      failures.find(({ canBeSummarized }) => canBeSummarized) ??
      failures[0] ??
`,
    replace: `      failures.find(({ canBeSummarized }) => canBeSummarized) ??
      failures[0] ??
`,
  },
  {
    name: 'takes an alert to several contacts for delivered once it reached one of them',
    seed: 9,
    file: EMAIL,
    find: '    const combined =\n',
    replace: '    const combined =\n      (newlyReached.length > 0 ? accepted : undefined) ??\n',
  },
  {
    name: 'acknowledges a report of SES that could not be recorded',
    seed: 'reports of SES cannot be recorded',
    file: 'shared/pipeline/email-events.ts',
    find: 'return { batchItemFailures: returned.map(({ messageId }) => ({ itemIdentifier: messageId })) };',
    replace: 'return { batchItemFailures: [] };',
  },
  {
    name: 'withholds alerts if the account is in shadow mode when they are attempted, not when SQS accepted their events',
    seed: 7,
    file: 'shared/pipeline/sender/deliver.ts',
    find: 'await accounts.isShadowed(event.tenant_id, accepted_at_ms)',
    replace: 'await accounts.isShadowed(event.tenant_id, clock())',
  },
];
