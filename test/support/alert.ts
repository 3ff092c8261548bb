import { alarmEvent, alertContent, EVENT_TIME_MS } from './events.ts';

/** An alert as transports receive it. */
export const alert = {
  ...alertContent(alarmEvent()),
  eventTimeMs: EVENT_TIME_MS,
  deliveryId: 'd1',
  reachedRecipientHashes: [],
  timeLeft: () => 30_000,
};
