import type { NamedMutation } from './named-mutation.ts';

const SUMMARIZE = 'shared/pipeline/sender/summarize.ts';
const ALERTS = 'shared/adapters/deliveries/summarized-alerts.ts';
const SETS = 'shared/adapters/dynamodb/conditional-writes.ts';
const SUMMARY = 'shared/domain/summary.ts';

/** Defects of summaries. */
export const summaryMutations: readonly NamedMutation[] = [
  {
    name: 'records an alert as summarized before its alarm is stored',
    smallCase: 'two emails, one summarized',
    file: SUMMARIZE,
    find: `    await summarizedAlerts.put(notice.event, summarizedAlarm(event, record.accepted_at_ms ?? accepted_at_ms), clock());
    await delivery.persist(withSummary({ ...record, siblings: job.body.siblings }, notice.event.event_id, clock()));
`,
    replace: `    await delivery.persist(withSummary({ ...record, siblings: job.body.siblings }, notice.event.event_id, clock()));
    await summarizedAlerts.put(notice.event, summarizedAlarm(event, record.accepted_at_ms ?? accepted_at_ms), clock());
`,
  },
  {
    name: 'sends one alert more at once than the account permits',
    seed: 3,
    file: SETS,
    find: 'size(#set) < :limit',
    replace: 'size(#set) <= :limit',
  },
  {
    name: 'summarizes the first alert of a window',
    seed: 3,
    file: SUMMARIZE,
    find: 'const after = settings[setting];',
    replace: 'const after = settings[setting] - 1;',
  },
  {
    name: 'forgets which of the alerts of a window are the first',
    smallCase: 'two emails, one summarized',
    file: SETS,
    find: ' OR contains(#set, :text)',
    replace: '',
    also: [{ file: SETS, find: "        ':text': text,\n", replace: '' }],
  },
  {
    name: 'lists the alert of an alarm in a summary that was stored last instead of the newest',
    seed: 9,
    file: ALERTS,
    find: "'attribute_not_exists(newest) OR newest < :newest'",
    replace: "'attribute_not_exists(newest) OR newest <> :newest'",
  },
  {
    name: 'hides an alarm in a summary behind another one',
    seed: 1,
    file: SUMMARY,
    find: 'export const INCIDENT_LENGTH = 16;',
    replace: 'export const INCIDENT_LENGTH = 1;',
  },
  {
    name: 'names at most two alarms in a summary',
    seed: 1,
    file: ALERTS,
    find: 'const MAX_READ = 20_000;',
    replace: 'const MAX_READ = 2;',
  },
  {
    name: 'mixes the alarms of all notifications in one summary',
    seed: 3,
    file: SUMMARY,
    find: '`${tenant}:${notificationId}-${name}:${startMs}:summary`',
    replace: '`${tenant}:${notificationId.slice(0, 2)}-${name}:${startMs}:summary`',
  },
  {
    name: 'remembers a summary as queued before SQS has accepted it',
    seed: 23,
    file: 'shared/pipeline/notices/notice-queue.ts',
    find: `    await allSettled([
      ...(toContacts`,
    replace: `    queuedIds.set(notice.event.event_id, true);
    await allSettled([
      ...(toContacts`,
  },
  {
    name: 'takes all windows of a notification for full once one is',
    seed: 4,
    file: SUMMARIZE,
    find: 'const full = `${summary.event_id} ${after}`;',
    replace: 'const full = `${alert.target.id} ${after}`;',
  },
  {
    name: 'fails a summary above the daily limit instead of sending it on the next day',
    seed: 39,
    file: 'shared/pipeline/daily-limit.ts',
    find: "summaries: createDailyLimit(counters, `${type}_summaries`, limitOf, { above: 'wait' }),",
    replace: 'summaries: createDailyLimit(counters, `${type}_summaries`, limitOf),',
  },
];
