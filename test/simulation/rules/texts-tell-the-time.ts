import { eventTimeMs } from '../world/alarm-events.ts';
import type { Observations } from '../world/observations.ts';
import { CONSOLE_URL, timeZoneOf } from '../world/scenario.ts';
import { nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { arrivalsOf, MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

const MINUTE_MS = 60_000;

const HEADLINE = /\[\w+\] (?:\(delayed by (\d+) (minutes|hours)\) )?host-/;
const SINCE = /^Since: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC([+-]\d\d:\d\d)?$/m;

/** Returns the least delay of which a headline says what this one says, and the delay from which it says another. */
const delayRange = ([, count, unit]: RegExpExecArray): [fromMs: number, untilMs: number] => {
  if (count === undefined) return [Number.NEGATIVE_INFINITY, 2 * MINUTE_MS + 1];
  const unitMs = unit === 'hours' ? 60 * MINUTE_MS : MINUTE_MS;
  return [Number(count) * unitMs, (Number(count) + 1) * unitMs];
};

/** An attempt starts at most so long before its message arrives, and clocks differ. */
const isTrue = ({ event }: PlannedAlert, atMs: number, found: RegExpExecArray, skewMs: number): boolean => {
  const [fromMs, untilMs] = delayRange(found);
  return [0, ...event.repeatsAfterMs].some((repeatMs) => {
    const delayMs = atMs - event.atMs - repeatMs;
    return delayMs + skewMs >= fromMs && delayMs - MAX_RUN_MS - skewMs < untilMs;
  });
};

/** Whether the times of an email are those of the event, in the time zone of the account. */
const hasTime = ({ event, tenant }: PlannedAlert, text: string): boolean => {
  const [, day, time, offset = 'Z'] = SINCE.exec(text) ?? [];
  const changedMs = Math.floor(eventTimeMs(event) / 1_000) * 1_000;
  const isLocal = (offset === 'Z') === (timeZoneOf(tenant) === 'UTC');
  return Date.parse(`${day}T${time}${offset}`) === changedMs && isLocal;
};

/** A webhook has only data unless it has a body of its own, and the end of an incident has no text for a pager. */
const hasText = (text: string): boolean => !text.startsWith('{') || HEADLINE.test(text);

const violationsOf = (alert: PlannedAlert, observations: Observations): string[] => {
  const { event, notification } = alert;
  const link = `${CONSOLE_URL}/${event.tenant}/alarms/${event.alarm}?entity=en`;
  return arrivalsOf(observations, alert)
    .filter(({ text }) => hasText(text))
    .flatMap(({ atMs, text }) => {
      const found = HEADLINE.exec(text);
      const isEmail = notification.type === 'email' || notification.type === 'technicalContactsEmail';
      return [
        ...(isEmail && !event.hasNoTime && !hasTime(alert, text)
          ? [`${nameOf(alert)} has another time: ${SINCE.exec(text)?.[0]}.`]
          : []),
        ...(text.includes(link) === (notification.type !== 'sms') ? [] : [`${nameOf(alert)} has another link.`]),
        ...(found && isTrue(alert, atMs, found, observations.scenario.maxSkewMs)
          ? []
          : [`${nameOf(alert)} was accepted at ${event.atMs} ms, arrived at ${atMs} ms, and says "${found?.[0]}".`]),
      ];
    });
};

/** Texts for people say how late they are and, except SMS, link the alarm; emails say when its state changed. */
export const textsTellTheTime: Rule = {
  name: 'texts tell the time',
  violations: (observations) =>
    plannedAlerts(observations.scenario).flatMap((alert) => violationsOf(alert, observations)),
};
