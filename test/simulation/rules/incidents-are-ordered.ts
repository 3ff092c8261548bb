import type { Arrival } from '../world/receivers.ts';
import { eventsOf, mustBeOlder } from './planned-alerts.ts';
import { mayBeUnrecorded } from './requests.ts';
import type { Rule } from './rule.ts';

/** If an accepted event could not be stored in its lock, its message is received again and sent again within this time. */
const MAX_UNKNOWN_MS = 600_000;

/** No pager or router gets an older event of an incident after a newer one that it answered. */
export const incidentsAreOrdered: Rule = {
  name: 'incidents are in order',
  violations(observations) {
    const { arrivals, scenario } = observations;
    /** Whether the service knew at the time of the later arrival that the earlier one was accepted. */
    const isKnown = (earlier: Arrival, later: Arrival): boolean =>
      earlier.isAnswered && (later.atMs - earlier.atMs > MAX_UNKNOWN_MS || !mayBeUnrecorded(earlier, observations));
    const events = new Map(eventsOf(scenario).map((event) => [event.number, event]));
    const destinations = scenario.tenants
      .flatMap(({ notifications }) => notifications)
      .filter(({ type }) => type === 'incidentpager' || type === 'incidentrouter');
    return destinations.flatMap(({ key }) => {
      const received = arrivals.filter(({ to, kind }) => to === key && kind === 'alert');
      return received.flatMap((arrival, index) => {
        const event = events.get(arrival.numbers[0] ?? -1);
        const newer = received.slice(0, index).find((earlier) => {
          const other = events.get(earlier.numbers[0] ?? -1);
          return event && other && mustBeOlder(event, other) && isKnown(earlier, arrival);
        });
        return event && newer
          ? [`${key} got #${event.number}# (${event.state} of ${event.timeMs}) after the newer #${newer.numbers[0]}#.`]
          : [];
      });
    });
  },
};
