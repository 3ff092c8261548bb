import type { NamedMutation } from './named-mutation.ts';

const COUNTER = 'shared/adapters/accounts/daily-counter.ts';
const LIMIT = 'shared/pipeline/daily-limit.ts';

/** Defects of daily limits. */
export const limitMutations: readonly NamedMutation[] = [
  {
    name: 'sends one message more than the daily limit',
    seed: 1,
    file: COUNTER,
    find: "':max_used': limit - amount,",
    replace: "':max_used': limit,",
  },
  {
    name: 'sends one message less than the daily limit',
    seed: 17,
    file: COUNTER,
    find: 'used <= :max_used',
    replace: 'used < :max_used',
  },
  {
    name: 'counts messages that AWS throttles toward the daily limit',
    seed: 'SES throttles alerts, then accepts others up to the limit',
    file: LIMIT,
    find: "if (outcome.result !== 'delivered' && outcome.nothingSent) await giveBack",
    replace: "if (outcome.result === 'permanent' && outcome.nothingSent) await giveBack",
  },
  {
    name: 'gives messages back that may have been sent',
    seed: 26,
    file: 'shared/domain/aws-outcome.ts',
    find: 'nothingSent: isResponse && rule !== undefined,',
    replace: 'nothingSent: !isResponse || rule !== undefined,',
  },
  {
    name: 'subtracts messages twice if the response to the first request is lost',
    seed: 'messages that SES throttled are given back, and the responses are lost',
    file: COUNTER,
    find: 'connectOnce = () => createDocumentClient({ ...awsConfig(), maxAttempts: 1 })',
    replace: 'connectOnce = () => createDocumentClient({ ...awsConfig(), maxAttempts: 3 })',
  },
  {
    name: 'summarizes messages within the daily limit if others of their batch are above it',
    seed: 'an alert to several addresses is partly above the daily limit',
    file: LIMIT,
    find: '(await result) ?? (values.length > 1 ? await count(tenant, 1, limit) : undefined)',
    replace: 'await result',
  },
  {
    name: 'counts the messages of all tenants together',
    seed: 33,
    file: COUNTER,
    find: 'pk: `${counter}#${utcDay(timeMs)}#${tenant}`,',
    replace: 'pk: `${counter}#${utcDay(timeMs)}`,',
  },
  {
    name: 'counts summaries toward the limit of alerts',
    seed: 16,
    file: LIMIT,
    find: "return notice.kind === 'summary' ? summaries : notices;",
    replace: "return notice.kind === 'summary' ? alerts : notices;",
  },
  {
    name: 'counts notices and escalations toward the limit of alerts',
    seed: 16,
    file: LIMIT,
    find: "return notice.kind === 'summary' ? summaries : notices;",
    replace: "return notice.kind === 'summary' ? summaries : alerts;",
  },
];
