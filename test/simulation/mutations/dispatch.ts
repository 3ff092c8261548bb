import type { NamedMutation } from './named-mutation.ts';

const FAN_OUT = 'shared/pipeline/dispatch/fan-out.ts';
const DISPATCH = 'shared/pipeline/dispatch/dispatch.ts';
const QUEUES = 'shared/adapters/queues.ts';

/** Defects of dispatch. */
export const dispatchMutations: readonly NamedMutation[] = [
  {
    name: 'acknowledges an event although SQS refused some of its deliveries',
    seed: 24,
    file: FAN_OUT,
    find: 'isIncomplete: unread.length > 0 || sent < existing.length,',
    replace: 'isIncomplete: unread.length > 0,',
  },
  {
    name: 'ignores the entries of a batch that SQS refuses',
    seed: 2,
    file: QUEUES,
    find: 'return Failed.flatMap(({ Id }) => batch[Number(Id)] ?? []);',
    replace: 'return [];',
  },
  {
    name: 'ignores that SQS did not accept a batch',
    seed: 'SQS refuses batches of deliveries',
    file: QUEUES,
    find: '...errorTrace(error) });\n      return batch;',
    replace: '...errorTrace(error) });\n      return [];',
  },
  {
    name: 'takes a notification that it cannot read for one that does not exist',
    seed: 126,
    file: FAN_OUT,
    find: '    return { id, error };',
    replace: '    return { id, target: undefined };',
  },
  {
    name: 'acknowledges an event of which a notification could not be read',
    seed: 'the partition of a tenant is throttled',
    file: DISPATCH,
    find: "const isReturned = (isIncomplete || escalated !== 'decided')",
    replace: "const isReturned = (hasInternalError || escalated !== 'decided')",
  },
  {
    name: 'does not return events to their queue',
    seed: 21,
    file: DISPATCH,
    find: 'const returned = results.filter(({ isReturned }) => isReturned);',
    replace: 'const returned = results.filter(({ isUnstarted }) => isUnstarted);',
  },
  {
    name: 'acknowledges an invalid event whose dead letter SQS did not accept',
    seed: 36,
    file: DISPATCH,
    find: 'return { message, isReturned: true, isInternalError: true, sentAtMs };',
    replace: 'return { message, isReturned: false, isInternalError: true, sentAtMs };',
  },
  {
    name: 'does not escalate an event whose notifications have all been deleted',
    seed: 143,
    file: FAN_OUT,
    find: 'unknown > 0 && unknown === planned.ids.length;',
    replace: 'unknown > planned.ids.length;',
  },
  {
    name: "lets a producer occupy the ID of a tenant's summary",
    seed: 'a producer sends an event with the ID of a summary',
    file: 'shared/domain/event-findings.ts',
    find: `  if (typeof eventId === 'string' && NOTICE_EVENT_ID.test(eventId))
    errors.push('event_id must not be that of a notice');
`,
    replace: '',
  },
];
