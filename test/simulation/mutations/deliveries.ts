import type { NamedMutation } from './named-mutation.ts';

const REPOSITORY = 'shared/adapters/deliveries/delivery-repository.ts';
const RECORD = 'shared/domain/delivery-record.ts';
const DELIVER = 'shared/pipeline/sender/deliver.ts';
const END = 'shared/pipeline/sender/end-attempt.ts';
const SENDER = 'shared/pipeline/sender/batch.ts';
const REQUEUE = 'shared/pipeline/sender/requeue.ts';

/** Claims, leases and duplicates. */
const claims: readonly NamedMutation[] = [
  {
    name: 'claims a new delivery although it has a record',
    seed: 1,
    file: REPOSITORY,
    find: "            ConditionExpression: 'attribute_not_exists(pk)',\n",
    replace: '',
  },
  {
    name: 'claims an existing delivery although it has changed since it was read',
    seed: 1,
    file: REPOSITORY,
    find: 'await change(claim.record, unchanged(found))',
    replace: 'await change(claim.record, {})',
  },
  {
    name: 'claims a delivery that another worker holds',
    seed: 'an event is repeated while its alert is sent',
    file: RECORD,
    find: 'if (existing.lease_until_ms > nowMs) return',
    replace: 'if (existing.lease_until_ms > nowMs + LEASE_MS) return',
  },
  {
    name: 'leases a delivery for 10 seconds, which is shorter than a send',
    seed: 2,
    file: RECORD,
    find: 'export const LEASE_MS = 35_000;',
    replace: 'export const LEASE_MS = 10_000;',
  },
  {
    name: 'makes a delivery claimable again although its own claim is lost',
    smallCase: 'a webhook that rejects',
    file: REPOSITORY,
    find: 'await change(next, heldBy(held))',
    replace: 'await change(next, {})',
  },
  {
    name: 'sends an alert again whose record says that it has arrived',
    seed: 1,
    file: RECORD,
    find: "  if (existing.status !== 'pending') return { kind: 'ended', record: existing };\n",
    replace: '',
  },
  {
    name: 'starts a new round for a repeated message of a failed delivery',
    seed: 'an event is repeated after its alert was rejected',
    file: RECORD,
    find: 'return initial.round === existing.round + 1',
    replace: 'return initial.round >= existing.round',
  },
  {
    name: 'delivers another event with the same ID',
    seed: 2,
    file: RECORD,
    find: "  if (existing.content_hash !== initial.content_hash) return { kind: 'conflict' };\n",
    replace: '',
  },
  {
    name: 'acknowledges a message whose delivery another worker has claimed',
    seed: 2,
    file: REQUEUE,
    find: "return { kind: 'busy', isReturned: true };",
    replace: "return { kind: 'busy' };",
  },
  {
    name: 'acknowledges a message whose next attempt is not due',
    seed: 2,
    file: DELIVER,
    find: '...(await reschedule(job, claim.record.next_attempt_at_ms - clock()))',
    replace: "kind: 'not_due'",
  },
  {
    name: 'attempts a delivery before its next attempt is due',
    seed: 1,
    file: RECORD,
    find: "  if (existing.next_attempt_at_ms > nowMs) return { kind: 'not_due', record: existing };\n",
    replace: '',
  },
];

/** What follows an attempt: records, retries and dead letters. */
const attemptEnds: readonly NamedMutation[] = [
  {
    name: 'sends the retry before its record is updated, and ignores the error of the update',
    seed: 2,
    file: END,
    find: `    await delivery.persist(withNextAttempt(record, clock() + waitMs));
    const copy = copyOfMessage(job);
    const isSameRound = roundOf(job.body) === record.round;
    const body = isSameRound ? copy.body : bodyForRound(job.body, record.round);
    await queues.sendDelayed(retryQueueUrl, { ...copy, body }, waitMs);
`,
    replace: `    const copy = copyOfMessage(job);
    const isSameRound = roundOf(job.body) === record.round;
    const body = isSameRound ? copy.body : bodyForRound(job.body, record.round);
    await queues.sendDelayed(retryQueueUrl, { ...copy, body }, waitMs);
    await delivery.persist(withNextAttempt(record, clock() + waitMs)).catch(() => undefined);
`,
  },
  {
    name: 'acknowledges a message whose retry SQS did not accept',
    seed: 2,
    file: END,
    find: 'await queues.sendDelayed(retryQueueUrl, { ...copy, body }, waitMs);',
    replace: 'await queues.sendDelayed(retryQueueUrl, { ...copy, body }, waitMs).catch(() => undefined);',
  },
  {
    name: 'returns the message of an alert that arrived and could not be recorded',
    seed: 'alerts that arrived cannot be recorded',
    file: END,
    find: "return { kind: 'unrecorded', isTenantThrottled: isTenantThrottled(error, job.body.event.tenant_id) };",
    replace: 'throw error;',
  },
  {
    name: 'tries once to record that an attempt failed',
    seed: 2,
    file: END,
    find: 'await delivery.persist(withNextAttempt(record, clock() + waitMs));',
    replace: 'await delivery.write(withNextAttempt(record, clock() + waitMs));',
  },
  {
    name: 'sends a retry without waiting for its record',
    seed: 1,
    file: END,
    find: 'await delivery.persist(withNextAttempt(record, clock() + waitMs));',
    replace: 'void delivery.persist(withNextAttempt(record, clock() + waitMs)).catch(() => undefined);',
  },
  {
    name: 'tries once to record an attempt',
    seed: 1,
    file: 'shared/pipeline/sender/persist.ts',
    find: 'if (remainingMs <= 0) throw error;',
    replace: 'throw error;',
  },
  {
    name: 'records a failed delivery before its dead letter is sent, and ignores the error of that',
    seed: 23,
    file: END,
    find: `    await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attemptCount: record.attempt_count });
    await delivery.persist(withFailure(record, failure.reason, failedAtMs));
`,
    replace: `    await delivery.persist(withFailure(record, failure.reason, failedAtMs));
    await queues
      .sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attemptCount: record.attempt_count })
      .catch(() => undefined);
`,
  },
  {
    name: 'stores the message of a failed delivery after its record says that it has failed',
    smallCase: 'a webhook that rejects',
    file: END,
    find: `    if (!isNotice) {
      const message = { recordKey: record, failedAtMs, body: letter.body, round };
      await persist(delivery.job, () => failedMessages.put(message));
    }
    await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attemptCount: record.attempt_count });
    await delivery.persist(withFailure(record, failure.reason, failedAtMs));
`,
    replace: `    await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attemptCount: record.attempt_count });
    await delivery.persist(withFailure(record, failure.reason, failedAtMs));
    if (!isNotice) {
      const message = { recordKey: record, failedAtMs, body: letter.body, round };
      await persist(delivery.job, () => failedMessages.put(message));
    }
`,
  },
  {
    name: 'gives up the claim of a rejected delivery before its dead letter is sent',
    seed: 1,
    file: END,
    find: 'await delivery.persist({ ...record, next_attempt_at_ms: clock() });',
    replace: 'await delivery.persist({ ...record, next_attempt_at_ms: clock(), lease_until_ms: 0 });',
  },
  {
    name: 'gives a dead letter the number of the round that has failed',
    seed: 1,
    file: END,
    find: 'const [round, failedAtMs] = [record.round + 1, clock()];',
    replace: 'const [round, failedAtMs] = [record.round, clock()];',
  },
  {
    name: 'does not return messages to their queue after an internal error',
    seed: 1,
    file: SENDER,
    find: '...processed.filter(({ result }) => result.isReturned),',
    replace: "...processed.filter(({ result }) => result.isReturned && result.kind === 'busy'),",
  },
  {
    name: 'acknowledges a message whose copy SQS refused',
    seed: 'SQS refuses alerts that wait for their incident lock',
    file: REQUEUE,
    find: 'await queues.sendDelayed(queueUrlOf(job.message, dependencies), copy, lockRetryDelayMs(waits));',
    replace:
      'await queues.sendDelayed(queueUrlOf(job.message, dependencies), copy, lockRetryDelayMs(waits)).catch(() => undefined);',
  },
  {
    name: 'acknowledges a message that could not be sent again',
    seed: 7,
    file: REQUEUE,
    find: 'await queues.sendDelayed(retryQueueUrl, copyOfMessage(job), waitMs);',
    replace: 'await queues.sendDelayed(retryQueueUrl, copyOfMessage(job), waitMs).catch(() => undefined);',
  },
];

/** The schedule of attempts, and what a response means. */
const retries: readonly NamedMutation[] = [
  {
    name: 'retries sooner than scheduled if the destination says so',
    seed: 1,
    file: 'shared/domain/retry-schedule.ts',
    find: 'withJitter(Math.max(scheduledMs, retryAfterMs), scale, random)',
    replace: 'withJitter(retryAfterMs || scheduledMs, scale, random)',
  },
  {
    name: 'ignores Retry-After',
    seed: 1,
    file: 'shared/domain/retry-schedule.ts',
    find: 'withJitter(Math.max(scheduledMs, retryAfterMs), scale, random)',
    replace: 'withJitter(scheduledMs, scale, random)',
  },
  {
    name: 'skips the first delay of the schedule of retries',
    seed: 4,
    file: 'shared/domain/retry-schedule.ts',
    find: 'RETRY_DELAYS_MS[attemptCount - 1]',
    replace: 'RETRY_DELAYS_MS[attemptCount]',
  },
  {
    name: 'expires a delivery 24 minutes after its first attempt',
    seed: 1,
    file: 'shared/domain/retry-schedule.ts',
    find: 'export const MAX_AGE_MS = 24 * HOUR_MS;',
    replace: 'export const MAX_AGE_MS = 24 * MINUTE_MS;',
  },
  {
    name: 'ends a round whose retry waited for the service for more than a day',
    seed: 'DynamoDB is down until a day after the first attempt',
    file: RECORD,
    find: 'return isLate && (existing.attempt_count > 0 || isRoundExpired(existing, nowMs))',
    replace: 'return isLate && existing.attempt_count === 0 && isRoundExpired(existing, nowMs)',
  },
  {
    name: 'forgets retries that wait longer than SQS can delay a message',
    seed: 1,
    file: SENDER,
    find: 'const rescheduled = notDue.map((job) => processedJob(job, reschedule(job, wait(job))));',
    replace: "const rescheduled = notDue.map((job) => processedJob(job, Promise.resolve({ kind: 'not_due' })));",
  },
  {
    name: 'counts an attempt that an open circuit prevented',
    seed: 2,
    file: 'shared/pipeline/transports/http-transport.ts',
    find: '      countsAsAttempt: false,\n',
    replace: '',
  },
  {
    name: 'takes a request without a response for delivered',
    seed: 'a webhook hangs',
    file: 'shared/pipeline/transports/http-transport.ts',
    find: "return failed('transient', 'timeout', `${host} did not respond within ${SEND_TIMEOUT_MS / 1000} s`);",
    replace:
      "return { result: 'delivered', explanation: `${host} did not respond within ${SEND_TIMEOUT_MS / 1000} s` };",
  },
  {
    name: 'takes a request without a response for rejected',
    seed: 2,
    file: 'shared/pipeline/transports/http-transport.ts',
    find: "return failed('transient', 'timeout', `${host} did not respond within ${SEND_TIMEOUT_MS / 1000} s`);",
    replace: "return failed('permanent', 'timeout', `${host} did not respond within ${SEND_TIMEOUT_MS / 1000} s`);",
  },
  {
    name: 'takes a redirect of a webhook for delivered',
    seed: 31,
    file: 'shared/pipeline/transports/webhook.ts',
    find: 'status: /^2..$/',
    replace: 'status: /^[23]..$/',
  },
  {
    name: 'fails an email for good that SES throttles',
    seed: 1,
    file: 'shared/domain/aws-outcome.ts',
    find: "[['Throttling', 'ThrottlingException'], throttled],\n  ],\n  sns",
    replace: "[['Throttling', 'ThrottlingException'], rejected],\n  ],\n  sns",
  },
];

/** Requests for the next attempt, and new rounds. */
const requests: readonly NamedMutation[] = [
  {
    name: 'does not look whether a waiting delivery has become due',
    seed: 3,
    file: 'shared/pipeline/sender/early-messages.ts',
    find: "return result?.status === 'fulfilled' && result.value;",
    replace: 'return false;',
  },
  {
    name: 'deletes the messages of failed deliveries that SQS refused to redeliver',
    seed: 'SQS refuses what is redelivered',
    file: 'shared/api/redelivery.ts',
    find: 'await deleteMessages(tenant, [...sent, ...stale]);',
    replace: 'await deleteMessages(tenant, [...fitting, ...stale]);',
  },
  {
    name: 'deletes the messages of failed deliveries before it redelivers them',
    seed: 'a redelivery is ended between its writes',
    file: 'shared/api/redelivery.ts',
    find: `        const { sent, firstUnsent, isLimitReached } = await send(recipient, fitting);
        await deleteMessages(tenant, [...sent, ...stale]);
`,
    replace: `        await deleteMessages(tenant, [...fitting, ...stale]);
        const { sent, firstUnsent, isLimitReached } = await send(recipient, fitting);
`,
  },
];

/** Defects of deliveries. */
export const deliveryMutations: readonly NamedMutation[] = [...claims, ...attemptEnds, ...retries, ...requests];
