import type { NamedMutation } from './named-mutation.ts';

const LOCK = 'shared/pipeline/sender/held-lock.ts';
const DELIVER = 'shared/pipeline/sender/deliver.ts';
const LOCKS = 'shared/adapters/deliveries/incident-locks.ts';

/** Defects of the order of an incident's events. */
export const incidentMutations: readonly NamedMutation[] = [
  {
    name: 'ignores that a webhook is ordered',
    seed: 'an ordered webhook fails until a newer event of the alarm arrives',
    file: 'shared/pipeline/sender/delivery-job.ts',
    find: "isOrdered: notificationTypes[type].hasIncidents || (type === 'webhook' && ordered === true),",
    replace: 'isOrdered: notificationTypes[type].hasIncidents,',
  },
  {
    name: 'sends an older event of an incident after a newer one',
    seed: 2,
    file: LOCK,
    find: 'this.newer = newest && isOlder(job.time, newest) ? newest : undefined;',
    replace: 'this.newer = newest && job.time.acceptedAtMs < newest.acceptedAtMs ? newest : undefined;',
  },
  {
    name: 'supersedes an event by another one of the same time',
    seed: 'two alerts of an incident have the same times',
    file: 'shared/domain/event-time.ts',
    find: '? event.acceptedAtMs < other.acceptedAtMs',
    replace: '? event.acceptedAtMs <= other.acceptedAtMs',
  },
  {
    name: 'claims the lock of an incident that another worker holds',
    seed: 12,
    file: LOCKS,
    find: "'attribute_not_exists(lease_until_ms) OR lease_until_ms <= :now OR (claim_id = :claim_id AND lease_until_ms = :lease_until_ms)'",
    replace: "'attribute_not_exists(lease_until_ms) OR lease_until_ms <= :lease_until_ms OR lease_until_ms <= :now'",
  },
  {
    name: 'keeps the lock of an incident after a delivery that failed',
    seed: 'alerts of an incident are rejected one after the other',
    file: DELIVER,
    find: '      await lock.release();\n',
    replace: '',
  },
  {
    name: 'stores a newer event in a lock once more when a copy of the request arrives late',
    seed: 'copies of the advance of an incident lock arrive late',
    file: LOCKS,
    find: "condition: '(attribute_not_exists(advance_count) OR advance_count = :count)',",
    replace: "condition: '(attribute_not_exists(advance_count) OR advance_count >= :count)',",
  },
  {
    name: 'records a delivery before its incident lock advances',
    seed: 'workers are ended after newer events of incidents',
    file: DELIVER,
    find: `    await lock?.advance();
    return { ...(await recordDelivered(delivery)), attempt };
`,
    replace: `    const recorded = await recordDelivered(delivery);
    await lock?.advance();
    return { ...recorded, attempt };
`,
  },
  {
    name: 'orders the events of all incidents of a notification together',
    seed: 2,
    file: 'shared/domain/incident.ts',
    find: 'sk: `incident#${event.incident_key}`,',
    replace: "sk: 'incident#',",
  },
  {
    name: 'drops an event of an incident for which no time is left',
    seed: 'a slow pager gets retries of an incident in one batch',
    file: DELIVER,
    find: 'if (job.timeLeft() < MIN_TIME_TO_SEND_MS + MAX_NOTICE_MS) return waitForLock(job);',
    replace: "if (job.timeLeft() < MIN_TIME_TO_SEND_MS + MAX_NOTICE_MS) return { kind: 'busy' };",
  },
];
