import type { NamedMutation } from './named-mutation.ts';

const LOCK = 'shared/pipeline/sender/incident-lock.ts';
const LOCKS = 'shared/adapters/deliveries/incident-locks.ts';
const SENDER = 'shared/pipeline/sender/sender.ts';

/** Defects of the order of an incident's events. */
export const incidentMutations: readonly NamedMutation[] = [
  {
    name: 'sends an older event of an incident after a newer one',
    seed: 3,
    file: LOCK,
    find: 'const newer = newest && isOlder(job.time, newest) ? newest : undefined;',
    replace: 'const newer = newest && job.time.acceptedAtMs < newest.acceptedAtMs ? newest : undefined;',
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
    file: LOCK,
    find: '    await releaseHeldLock(held);\n    return done;',
    replace: '    return done;',
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
    seed: 1026,
    file: LOCK,
    find: `      const advanced: AdvancedLock = advancesLock(result)
        ? await advanceHeldLock(held, job, remaining.length === 1)
        : { held };
      held = advanced.held;
      done.push(await settledJob(job, settleAfterAdvance(job, result, advanced.error)));
`,
    replace: `      done.push(await settledJob(job, settleAfterAdvance(job, result, undefined)));
      const advanced: AdvancedLock = advancesLock(result)
        ? await advanceHeldLock(held, job, remaining.length === 1)
        : { held };
      held = advanced.held;
`,
  },
  {
    name: 'ignores that an incident lock could not be advanced',
    seed: 1019,
    file: LOCK,
    find: 'return { held: { lock, mustRelease: false }, error: new LockNotAdvancedError(error) };',
    replace: 'return { held: { lock, mustRelease: true } };',
  },
  {
    name: 'sends all notifications of an incident to the first of them',
    seed: 3,
    file: SENDER,
    find: '`${body.notification_id} ${body.event.incident_key}`',
    replace: 'body.event.incident_key',
  },
  {
    name: 'orders the events of all incidents of a notification together',
    seed: 2,
    file: 'shared/domain/incident.ts',
    find: 'sk: `incident#${event.incident_key}`,',
    replace: "sk: 'incident#',",
  },
  {
    name: 'drops the events of an incident after one that has an internal error',
    seed: 1098,
    file: LOCK,
    find: `        done.push(await settledJob(job, Promise.reject(result.error)));
        continue;
`,
    replace: `        done.push(await settledJob(job, Promise.reject(result.error)));
        break;
`,
  },
  {
    name: 'drops the events of an incident for which no time is left, except the first',
    seed: 2,
    file: LOCK,
    find: 'done.push(...(await rescheduleAll(remaining)));',
    replace: 'done.push(...(await rescheduleAll([job])));',
  },
  {
    name: 'drops the events of an incident behind an open circuit, except the first',
    seed: 2,
    file: LOCK,
    find: 'done.push(...(await rescheduleForOpenCircuit(remaining, job, result)));',
    replace: 'done.push(...(await rescheduleForOpenCircuit([job], job, result)));',
  },
];
