import { escape as escapeHtml } from 'html-escaper';
import type { AlarmState } from '../../contracts/alarm-event.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import { factTexts, minuteText, timesIn, type ZonedTime } from '../../domain/alert-text.ts';
import { alarmCount, plural, type Summary, summaryHeading } from '../../domain/summary.ts';
import { type EmailMessage, emailPage, paragraph, stateHeading } from './email-message.ts';

type ListedAlarm = Summary['alarms'][number];

/** States were seen at different times, and newer alerts may have been sent since. */
const EXPLANATION = 'Each alarm has the state of its newest alert in this message. Later alerts arrive separately.';

type TimeOf = (timeMs: number) => ZonedTime;

/** The maximum length of the list of alarms as HTML, in bytes: Gmail clips emails above 102 KB. */
const MAX_LIST_BYTES = 90_000 - 2_000;

type Item = { state: AlarmState; minute: string; text: string; html: string };

/** Returns the items of a list. A minute has its date unless it is that of the newest alarm. */
const itemsOf = (alarms: readonly ListedAlarm[], timeOf: TimeOf): Item[] => {
  const { day: newestDay } = timeOf(Math.max(...alarms.map(({ atMs }) => atMs)));
  return alarms.map(({ state, name, status, atMs }) => {
    const minute = minuteText(timeOf(atMs));
    return {
      state,
      minute: minute.startsWith(newestDay) ? minute.slice(newestDay.length + 1) : minute,
      text: `- ${name}${status === '' ? '' : `: ${status}`}`,
      html: `<li dir=auto><b>${escapeHtml(name)}</b> ${escapeHtml(status)}`,
    };
  });
};

const minuteHtml = (minute: string, items: readonly Item[]): string =>
  `<h3 style="margin:12px 0 0;font-size:14px">${minute}</h3>
<ul style="margin:4px 0;padding:0 20px">
${items.map(({ html }) => html).join('\n')}
</ul>`;

const fitting = (items: readonly Item[]): Item[] => {
  let [bytes, group] = [0, ''];
  return items.filter(({ state, minute, html }) => {
    const isFirst = group !== state + minute;
    group = state + minute;
    bytes += Buffer.byteLength(html) + 1 + (isFirst ? minuteHtml(minute, []).length : 0);
    return bytes <= MAX_LIST_BYTES;
  });
};

const sectionOf = (state: AlarmState, items: readonly Item[]) => {
  const minutes = [...Map.groupBy(items, ({ minute }) => minute)];
  return {
    text: [state, ...minutes.flatMap(([minute, listed]) => [minute, ...listed.map(({ text }) => text)])].join('\n'),
    html: `${stateHeading(state)}
<div style="margin:0 16px">${minutes.map(([minute, listed]) => minuteHtml(minute, listed)).join('\n')}</div>`,
  };
};

/** What is wrong, most severe first, then what has recovered. `notice`: its period, and why alerts are summarized. */
export const summaryEmail = (
  summary: Summary,
  { paragraphs, facts }: NoticeContent,
  timeZone = DEFAULT_TIME_ZONE,
): EmailMessage => {
  const heading = summaryHeading(summary);
  const timeOf = timesIn(timeZone);
  const [from, to] = factTexts(facts, (timeMs) => minuteText(timeOf(timeMs))).map(([, time]) => time);
  const period = `Alerts from ${from} to ${to}.`;
  const listed = fitting(itemsOf(summary.alarms, timeOf));
  const more = alarmCount(summary) - listed.length;
  const ended = [
    ...(more > 0 ? [`And ${plural(more, 'more alarm')}: see the delivery history of the notification.`] : []),
    ...paragraphs,
    EXPLANATION,
  ];
  const states = [...Map.groupBy(listed, ({ state }) => state)];
  const sections = states.map(([state, items]) => sectionOf(state, items));
  const mostSevere = states[0]?.[0] ?? 'OK';
  return {
    subject: heading,
    text: `${[heading, period, ...sections.map(({ text }) => text), ...ended].join('\n\n')}\n`,
    html: emailPage(mostSevere, mostSevere, heading, [
      paragraph(period),
      ...sections.map(({ html }) => html),
      ...ended.map(paragraph),
    ]),
  };
};
