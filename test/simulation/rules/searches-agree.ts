import { isDeepStrictEqual } from 'node:util';
import { historyEntrySchema } from '../world/observations.ts';
import { deletedAtMs } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/**
 * A search for an event finds each record in the histories of its tenant's notifications once, and no other. Those of
 * deleted notifications are found if another record of the event lists them, without a type.
 */
export const searchesAgree: Rule = {
  name: 'a search finds what the histories contain',
  violations(observations) {
    const { history, foundEvents, ids } = observations;
    const indexes = new Map([...ids].map(([index, id]) => [id, index]));
    return foundEvents.flatMap(({ eventId, indexes: ofTenant, deliveries }) => {
      const expected = history.filter(
        ({ event_id, notification }) => event_id === eventId && ofTenant.includes(notification),
      );
      const found = deliveries.flatMap(({ notification_id, type, ...delivery }) => {
        const notification = indexes.get(notification_id);
        const entry = historyEntrySchema.parse(delivery);
        return notification === undefined ? [] : [{ ...entry, notification, type }];
      });
      const missing = expected.filter(
        ({ notification }) =>
          deletedAtMs(observations, notification) === undefined &&
          !found.some((entry) => entry.notification === notification),
      );
      const wrong = found.filter(
        ({ type, ...entry }, index) =>
          !expected.some((other) => isDeepStrictEqual(other, entry)) ||
          found.findIndex(({ notification }) => notification === entry.notification) < index ||
          (type === null && deletedAtMs(observations, entry.notification) === undefined),
      );
      return [
        ...missing.map(({ notification }) => `${eventId} of d${notification} is not found.`),
        ...wrong.map(({ notification }) => `${eventId} of d${notification} is found twice, or not as in its history.`),
      ];
    });
  },
};
