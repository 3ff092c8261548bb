import type { Observations } from '../world/observations.ts';
import type { Behavior } from '../world/scenario.ts';
import type { PlannedAlert } from './planned-alerts.ts';

/** A request with an alert that its destination got. `isAnswered` is true if its sender knows that it was accepted. */
export type AlertRequest = {
  atMs: number;
  /** The execution environment that sent it. */
  by: string;
  isAccepted: boolean;
  isAnswered: boolean;
  behavior?: Behavior;
  retryAfterMs?: number | undefined;
};

/** Returns the requests with an alert to its recipient, in order. */
export const requestsOf = ({ arrivals, refusals }: Observations, { event, to }: PlannedAlert): AlertRequest[] =>
  [
    ...arrivals
      .filter((arrival) => arrival.to === to && arrival.kind === 'alert' && arrival.numbers.includes(event.number))
      .map(({ atMs, by, isAnswered }) => ({ atMs, by, isAccepted: true, isAnswered })),
    ...refusals
      .filter((refusal) => refusal.to === to && refusal.kind === 'alert' && refusal.numbers.includes(event.number))
      .map((refusal) => ({ ...refusal, isAccepted: false, isAnswered: false })),
  ].sort((left, right) => left.atMs - right.atMs);

/** An attempt is recorded within this time, or not at all. */
const MAX_RECORDING_MS = 40_000;

/** Returns whether a fault may have prevented that an attempt was recorded. */
export const isDisturbed = ({ by, atMs }: AlertRequest, { kills, faults, scenario }: Observations): boolean => {
  const isSoonAfter = (other: { environmentId: string; atMs: number }): boolean =>
    other.environmentId === by && other.atMs >= atMs && other.atMs <= atMs + MAX_RECORDING_MS;
  return scenario.rates.throttledKey > 0 || kills.some(isSoonAfter) || faults.some(isSoonAfter);
};

/** Returns whether nothing went wrong but at destinations. */
export const isCalm = ({ kills, faults, scenario }: Observations): boolean =>
  kills.length === 0 &&
  faults.length === 0 &&
  scenario.rates.throttledKey === 0 &&
  scenario.rates.duplicateReceives === 0;
