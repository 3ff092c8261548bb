import type { Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** A function that runs longer is ended, and its claim with it. */
const MAX_RUN_MS = 35_000;

/** Returns whether the sender of a message may not have recorded that it was accepted. */
export const isUnrecorded = ({ isAnswered, by, atMs }: Arrival, { kills }: Observations): boolean =>
  // A call that was on its way arrives after its sender was ended.
  !isAnswered || kills.some((kill) => kill.environmentId === by && kill.atMs <= atMs + MAX_RUN_MS);

/** An alert arrives twice only if its sender got no answer, or was ended before it recorded the answer. */
export const duplicatesAreExplained: Rule = {
  name: 'duplicates are explained',
  violations(observations) {
    const groups = Map.groupBy(
      plannedAlerts(observations.scenario),
      ({ event, to }: PlannedAlert) => `#${event.number}# to ${to}`,
    );
    return [...groups].flatMap(([name, alerts]) => {
      const [first] = alerts;
      const arrivals = observations.arrivals.filter(
        ({ to, kind, numbers }) => to === first?.to && kind === 'alert' && numbers.includes(first?.event.number ?? -1),
      );
      const unexplained = arrivals.filter((arrival) => !isUnrecorded(arrival, observations)).length;
      return unexplained > alerts.length
        ? [`${name} arrived ${arrivals.length} times, ${unexplained} with an answer.`]
        : [];
    });
  },
};
