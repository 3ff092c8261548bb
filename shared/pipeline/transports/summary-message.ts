import { escape as escapeHtml } from 'html-escaper';
import type { NoticeContent } from '../../contracts/notice.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import { factTexts, minuteText, plainLine, timesIn, type ZonedTime } from '../../domain/alert-text.ts';
import { alarmCount, type Summary, statesBySeverity } from '../../domain/summary.ts';
import type { EmailMessage } from './email-message.ts';
import { emailPage, paragraph, stateHeading } from './email-page.ts';
import { fitsSms, smsPart } from './sms-message.ts';

type ListedAlarm = Summary['alarms'][number];

const formatCount = (count: number): string => count.toLocaleString('en-US');

const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Returns the number of alarms in each state: `12 alarms: 5 CRITICAL, 7 OK`. */
const headingOf = (summary: Summary): string => {
  const states = statesBySeverity
    .filter((state) => summary.alarmCounts[state] > 0)
    .map((state) => `${formatCount(summary.alarmCounts[state])} ${state}`);
  return `${plural(alarmCount(summary), 'alarm')}: ${states.join(', ')}`;
};

/** States were seen at different times, and newer alerts may have been sent since. */
const EXPLANATION = 'Each alarm has the state of its newest alert in this message. Later alerts arrive separately.';

/** Returns the time of an alarm. */
type TimeOf = (timeMs: number) => ZonedTime;

/** Returns when a state was seen: `OK at 02:24 UTC`, with the date unless it is that of the newest alarm. */
const seen = ({ state, atMs }: ListedAlarm, newestDay: string, timeOf: TimeOf): string => {
  const text = minuteText(timeOf(atMs));
  return `${state} at ${text.startsWith(newestDay) ? text.slice(newestDay.length + 1) : text}`;
};

/** The maximum length of the list of alarms as HTML, in bytes: Gmail clips emails above 102 KB. */
const MAX_LIST_BYTES = 90_000 - 2_000;

const itemOf = (alarm: ListedAlarm, newestDay: string, timeOf: TimeOf) => {
  const line = `${seen(alarm, newestDay, timeOf)}${alarm.status === '' ? '' : `: ${alarm.status}`}`;
  return {
    state: alarm.state,
    text: `- ${alarm.name}\n  ${line}`,
    html: `<p dir=auto><b>${escapeHtml(alarm.name)}</b><br>${escapeHtml(line)}`,
  };
};

/** Returns the alarms that fit, as text and HTML, most severe first. */
const listOf = ({ alarms }: Summary, timeOf: TimeOf) => {
  const { day: newestDay } = timeOf(Math.max(...alarms.map(({ atMs }) => atMs)));
  let bytes = 0;
  return alarms
    .map((alarm) => itemOf(alarm, newestDay, timeOf))
    .filter(({ html }) => {
      bytes += Buffer.byteLength(html) + 1;
      return bytes <= MAX_LIST_BYTES;
    });
};

/**
 * Returns the email of a summary: what is wrong, most severe first, then what has recovered, readable on a phone.
 *
 * @param notice its period, and why alerts are summarized
 */
export const summaryEmail = (
  summary: Summary,
  { paragraphs, facts }: NoticeContent,
  timeZone = DEFAULT_TIME_ZONE,
): EmailMessage => {
  const heading = headingOf(summary);
  const timeOf = timesIn(timeZone);
  const [from, to] = factTexts(facts, (timeMs) => minuteText(timeOf(timeMs))).map(([, time]) => time);
  const period = `Alerts from ${from} to ${to}.`;
  const listed = listOf(summary, timeOf);
  const more = alarmCount(summary) - listed.length;
  const ended = [
    ...(more > 0 ? [`And ${plural(more, 'more alarm')}: see the delivery history of the notification.`] : []),
    ...paragraphs,
    EXPLANATION,
  ];
  const sections = statesBySeverity
    .map((state) => ({ state, items: listed.filter((item) => item.state === state) }))
    .filter(({ items }) => items.length > 0);
  const text = sections.map(({ state, items }) => [state, ...items.map((item) => item.text)].join('\n'));
  const mostSevere = sections[0]?.state ?? 'OK';
  return {
    subject: heading,
    text: `${[heading, period, ...text, ...ended].join('\n\n')}\n`,
    html: emailPage(mostSevere, mostSevere, heading, [
      paragraph(period),
      ...sections.map(
        ({ state, items }) =>
          `${stateHeading(state)}\n<div style="margin:0 16px">${items.map(({ html }) => html).join('\n')}</div>`,
      ),
      ...ended.map(paragraph),
    ]),
  };
};

/** After this many names that do not fit, an SMS is as good as full: measuring thousands would take seconds. */
const MAX_MISSES = 10;

/**
 * Returns the SMS of a summary: alarms per state, then the names that fit into one part, or else the beginning of the
 * first.
 */
export const summarySms = (summary: Summary): string => {
  const heading = headingOf(summary);
  let text = heading;
  let misses = 0;
  for (const { name } of summary.alarms) {
    const longer = `${text}${text === heading ? '. ' : ', '}${plainLine(name)}`;
    if (fitsSms(longer)) text = longer;
    else if (++misses === MAX_MISSES) break;
  }
  const withFirst = smsPart(`${heading}. ${summary.alarms[0]?.name}`);
  return text === heading && withFirst.startsWith(heading) ? withFirst : smsPart(text);
};
