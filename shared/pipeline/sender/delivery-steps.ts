import { createAttempt } from './delivery-attempt.ts';
import { createEarlyMessageCheck } from './early-messages.ts';
import { createFailureReport } from './failure-report.ts';
import { createHeartbeatDelivery } from './heartbeat.ts';
import { createIncidentDelivery } from './incident-lock.ts';
import { createFirstAttemptMove } from './move-first-attempts.ts';
import { createRequeue } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';
import { createSettlement } from './settlement.ts';

/** Creates what a sender does with the messages of a batch. */
export const createDeliverySteps = (dependencies: SenderDependencies) => {
  const requeue = createRequeue(dependencies);
  const attempt = createAttempt(dependencies, requeue);
  const settle = createSettlement(dependencies);
  return {
    ...requeue,
    checkEarly: createEarlyMessageCheck(dependencies),
    moveFirstAttempts: createFirstAttemptMove(dependencies, requeue),
    attempt,
    settle,
    deliverHeartbeat: createHeartbeatDelivery(dependencies, attempt),
    deliverInOrder: createIncidentDelivery(dependencies, requeue, attempt, settle),
    reportFailures: createFailureReport(dependencies),
  };
};
