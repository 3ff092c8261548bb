import type { Observations } from '../world/observations.ts';
import { changesAreAudited, changesTakeEffect, requestsOfPeopleAreTrue } from './changes-are-audited.ts';
import { duplicatesAreExplained } from './duplicates-are-explained.ts';
import { deadLettersAreExact, failuresAreDeadLettered, failuresAreJustified } from './failures-are-dead-lettered.ts';
import { failuresAreListed } from './failures-are-listed.ts';
import { emailReportsAreNoticed, failuresAreNoticed, noticesAreJustified } from './failures-are-noticed.ts';
import { emailsAreConfirmed, historyAgrees, searchesAgree } from './history-agrees.ts';
import { incidentsAreOrdered } from './incidents-are-ordered.ts';
import { limitsAreUsed, limitsHold } from './limits.ts';
import { metricsCountDeliveries } from './metrics-count-deliveries.ts';
import { sendingRules } from './nothing-else-is-sent.ts';
import { nothingIsLost } from './nothing-is-lost.ts';
import { outagesEndOnce } from './outages-end-once.ts';
import { outcomesArePublished } from './outcomes-are-published.ts';
import { MAX_RUN_MS } from './requests.ts';
import { alertsArePrompt, retriesFollowTheSchedule } from './retries-follow-the-schedule.ts';
import type { Rule } from './rule.ts';
import { stopsHold } from './stops-hold.ts';
import { summariesHold } from './summaries-hold.ts';
import { textsTellTheTime } from './texts-tell-the-time.ts';
import { escalationRules } from './unreached-events-are-escalated.ts';
import { webhookIdsIdentifyDeliveries, webhooksAreSigned } from './webhooks-are-signed.ts';

/** How a sender ends a test if a call to AWS fails that is not the send. */
const TEST_NOT_RUN = 'Error: The test did not run.';

/** Everything that is accepted ends: no message waits, and no function fails but by a fault. */
const everythingEnds: Rule = {
  name: 'everything ends',
  violations: ({ left, failures, faults, endedMs }) => [
    ...(left > 0 ? [`${left} messages are still in the queues after ${Math.round(endedMs / 3_600_000)} hours.`] : []),
    ...failures
      .filter((failure) => !faults.some(({ environmentId }) => failure === `${environmentId}: ${TEST_NOT_RUN}`))
      .map((failure) => `A function failed: ${failure}`),
  ],
};

/** Without faults, a sender starts nothing that it cannot end before it times out. */
const sendersEndInTime: Rule = {
  name: 'senders end in time',
  violations: ({ kills, faults }) =>
    kills
      .filter(({ functionName, isTimeout }) => functionName.startsWith('send-') && isTimeout)
      .filter(
        (kill) =>
          !faults.some(
            ({ environmentId, atMs }) => environmentId === kill.environmentId && kill.atMs - atMs <= MAX_RUN_MS,
          ),
      )
      .map(({ environmentId, atMs }) => `${environmentId} timed out after ${atMs} ms.`),
};

const rules: readonly Rule[] = [
  everythingEnds,
  sendersEndInTime,
  nothingIsLost,
  failuresAreDeadLettered,
  deadLettersAreExact,
  failuresAreJustified,
  duplicatesAreExplained,
  incidentsAreOrdered,
  ...sendingRules,
  changesAreAudited,
  changesTakeEffect,
  limitsHold,
  textsTellTheTime,
  emailsAreConfirmed,
  failuresAreNoticed,
  emailReportsAreNoticed,
  noticesAreJustified,
  outagesEndOnce,
  ...escalationRules,
  retriesFollowTheSchedule,
  requestsOfPeopleAreTrue,
  summariesHold,
  limitsAreUsed,
  alertsArePrompt,
  webhooksAreSigned,
  webhookIdsIdentifyDeliveries,
  historyAgrees,
  searchesAgree,
  outcomesArePublished,
  stopsHold,
  metricsCountDeliveries,
  failuresAreListed,
];

/** Returns what a run violates, each with the name of its rule. */
export const violationsOf = (observations: Observations): string[] =>
  rules.flatMap(({ name, violations }) => violations(observations).map((text) => `${name}: ${text}`));
