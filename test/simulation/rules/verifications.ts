import type { Observations } from '../world/observations.ts';
import type { PlannedNotification } from '../world/scenario.ts';

/** Returns when people started and ended to verify the recipient of a notification, ms since the start. */
export const verificationOf = ({ people }: Observations, { index, isUnverified }: PlannedNotification) => {
  if (!isUnverified) return { startedMs: Number.NEGATIVE_INFINITY, endedMs: Number.NEGATIVE_INFINITY };
  const done = people.find(({ action }) => action.kind === 'verify' && action.notification === index);
  const isDone = done?.responses.at(-1)?.status === 200;
  return {
    // One whose response is an error may have been applied.
    startedMs: done?.startedMs ?? Number.POSITIVE_INFINITY,
    endedMs: done && isDone ? done.endedMs : Number.POSITIVE_INFINITY,
  };
};

/** Returns whether an alert failed because its recipient was not verified, which redelivering it at the end did not change. */
export const isUnverified = (
  observations: Observations,
  notification: PlannedNotification,
  { status, reason }: { status: string; reason?: string | null | undefined },
): boolean =>
  status === 'failed' &&
  reason === 'unverified' &&
  verificationOf(observations, notification).endedMs === Number.POSITIVE_INFINITY;
