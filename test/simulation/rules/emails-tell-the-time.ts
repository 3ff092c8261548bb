import { eventTimeMs } from '../world/alarm-events.ts';
import type { Observations } from '../world/observations.ts';
import { timeZoneOf } from '../world/scenario.ts';
import { nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

const MINUTE_MS = 60_000;

const DELAY = /^\[\w+\] (?:\(delayed by (\d+) (minutes|hours)\) )?/;
const SINCE = /^Since: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC([+-]\d\d:\d\d)?$/m;

/** Returns the least delay of which an email says what this one says, and the delay from which it says another. */
const delayRange = (text: string): [fromMs: number, untilMs: number] => {
  const [, count, unit] = DELAY.exec(text) ?? [];
  if (count === undefined) return [Number.NEGATIVE_INFINITY, 2 * MINUTE_MS + 1];
  const unitMs = unit === 'hours' ? 60 * MINUTE_MS : MINUTE_MS;
  return [Number(count) * unitMs, (Number(count) + 1) * unitMs];
};

/** An attempt starts at most so long before its email arrives, and clocks differ. */
const isTrue = ({ event }: PlannedAlert, atMs: number, text: string, skewMs: number): boolean => {
  const [fromMs, untilMs] = delayRange(text);
  return [0, ...event.repeatsAfterMs].some((repeatMs) => {
    const delayMs = atMs - event.atMs - repeatMs;
    return delayMs + skewMs >= fromMs && delayMs - MAX_RUN_MS - skewMs < untilMs;
  });
};

const violationsOf = (alert: PlannedAlert, { arrivals, scenario }: Observations): string[] =>
  arrivals
    .filter(({ to, kind, numbers }) => to === alert.to && kind === 'alert' && numbers.includes(alert.event.number))
    .flatMap(({ atMs, text }) => {
      const [since, day, time, offset = 'Z'] = SINCE.exec(text) ?? [];
      const changedMs = Math.floor(eventTimeMs(alert.event) / 1_000) * 1_000;
      const isLocal = (offset === 'Z') === (timeZoneOf(alert.tenant) === 'UTC');
      return [
        ...(Date.parse(`${day}T${time}${offset}`) === changedMs && isLocal
          ? []
          : [`${nameOf(alert)} has the time "${since}".`]),
        ...(isTrue(alert, atMs, text, scenario.maxSkewMs)
          ? []
          : [
              `${nameOf(alert)} was accepted at ${alert.event.atMs} ms, arrived at ${atMs} ms, and says "${text.split('\n')[0]}".`,
            ]),
      ];
    });

/** An email says when the state changed, in the time zone of the account, and how late it is. */
export const emailsTellTheTime: Rule = {
  name: 'emails tell the time',
  violations: (observations) =>
    plannedAlerts(observations.scenario)
      .filter(({ notification: { type } }) => type === 'email' || type === 'technicalContactsEmail')
      .flatMap((alert) => violationsOf(alert, observations)),
};
