import { escape as escapeHtml } from 'html-escaper';
import type { AlarmState } from '../../contracts/alarm-event.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import {
  factLines,
  factTexts,
  headline,
  LINK_TEXT,
  lateState,
  linkLines,
  minuteText,
  noticeFacts,
  noticeSubject,
  noticeText,
  secondText,
  subjectLine,
  type TimeText,
  timesIn,
  type ZonedTime,
} from '../../domain/alert-text.ts';
import { alarmCount, plural, type Summary, summaryHeading } from '../../domain/summary.ts';
import type { Alert } from '../../domain/transport.ts';

/** The colors of the states, on which white text is readable. */
const stateColors: Record<AlarmState, string> = { OK: '#2e7d32', WARNING: '#9a5b00', CRITICAL: '#c62828' };

const stateStyle = (state: AlarmState): string =>
  `padding:8px 16px;background:${stateColors[state]};color:#fff;font-weight:bold`;

const lines = (text: string): string => escapeHtml(text).replaceAll('\n', '<br>');

const paragraph = (text: string): string => `<p dir="auto" style="margin:12px 16px">${lines(text)}</p>`;

const stateHeading = (state: AlarmState): string =>
  `<h2 style="margin:16px 0 0;${stateStyle(state)};font-size:16px">${state}</h2>`;

const named = (name: string): string =>
  `<p dir="auto" style="margin:12px 16px 0;font-size:13px">${escapeHtml(name)}</p>`;

const fact = (name: string, value: string): string =>
  `${named(name)}<p dir="auto" style="margin:0 16px">${lines(value)}</p>`;

const lineOf = (name: string, value: string): string =>
  `<p dir="auto" style="margin:4px 16px"><span style="font-size:13px">${escapeHtml(name)}</span> ${lines(value)}</p>`;

const button = (text: string, url: string): string =>
  `<p style="margin:16px"><a href="${escapeHtml(url)}" style="display:inline-block;padding:8px 16px;border:1px solid #888;border-radius:4px;color:inherit;font-weight:bold;text-decoration:none">${escapeHtml(text)}</a></p>`;

const command = (name: string, text: string): string =>
  `${named(name)}<pre style="margin:4px 16px;padding:8px;border:1px solid #888;white-space:pre-wrap;font-size:13px">${escapeHtml(text)}</pre>`;

const END = '</td></tr></table></body></html>';

export const withFooter = (html: string, text: string, link: { text: string; url: string }): string =>
  [
    html.slice(0, -END.length),
    '<p dir="auto" style="margin:16px 16px 0;padding-top:12px;border-top:1px solid #888;font-size:13px">',
    `${escapeHtml(text)} <a href="${escapeHtml(link.url)}">${escapeHtml(link.text)}</a></p>`,
    END,
  ].join('');

/**
 * It fits the screen of a phone: nothing has a width of its own, and words break anywhere. Other colors are left to the
 * email client, which may be dark. Email clients support only inline styles, on tables best.
 */
const emailPage = (state: AlarmState, bar: string, heading: string, parts: readonly string[]): string =>
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<meta name="color-scheme" content="light dark"><title>${escapeHtml(heading)}</title></head>`,
    '<body style="margin:0">',
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="table-layout:fixed;max-width:640px;font:16px/1.4 sans-serif;overflow-wrap:anywhere;word-break:break-word">',
    `<tr><td style="${stateStyle(state)};font-size:18px">${escapeHtml(bar)}</td></tr>`,
    `<tr><td style="padding-bottom:16px"><h1 dir="auto" style="margin:12px 16px;font-size:20px">${escapeHtml(heading)}</h1>`,
    ...parts,
    END,
  ].join('\n');

export type EmailMessage = { subject: string; text: string; html: string };

const buttons = (alarmUrl: string | undefined): string[] =>
  alarmUrl === undefined ? [] : [button(LINK_TEXT, alarmUrl)];

/** What, where, the status and since when come first in the HTML, and nothing of it twice. */
const alertEmail = ({ event, delayMs, alarmUrl }: EmailedAlert, timeText: TimeText): EmailMessage => {
  const { state, facts } = event;
  const rows = factTexts(facts, timeText);
  const heading = headline(event).slice(`[${state}] `.length);
  const rowNamed = (wanted: string) => rows.find(([name]) => name === wanted);
  const status = rowNamed('Status');
  const shownAbove = [
    status,
    ...['State', 'Entity', 'Alarm'].map(rowNamed).filter((row) => row && `${state}: ${heading}`.includes(row[1])),
  ];
  return {
    subject: subjectLine(event, delayMs),
    text: `${[headline(event, delayMs), ...linkLines(alarmUrl), factLines(facts, timeText)].join('\n\n')}\n`,
    html: emailPage(state, lateState(state, delayMs), heading, [
      ...(status ? [paragraph(status[1])] : []),
      ...buttons(alarmUrl),
      ...rows.filter((row) => !shownAbove.includes(row)).map(([name, value]) => lineOf(name, value)),
    ]),
  };
};

const noticeEmail = (
  { event: { state }, alarmUrl }: EmailedAlert,
  notice: NoticeContent,
  timeText: TimeText,
): EmailMessage => {
  const subject = noticeSubject(notice);
  const { first, ids } = noticeFacts(notice);
  const factsOf = (facts: NoticeContent['facts']) => factTexts(facts, timeText).map(([name, text]) => fact(name, text));
  return {
    subject,
    text: `${subject}\n\n${noticeText(notice, alarmUrl, timeText)}\n`,
    html: emailPage(state, state, subject, [
      ...notice.paragraphs.map(paragraph),
      ...buttons(alarmUrl),
      ...factsOf(first),
      ...(notice.commands ?? []).map(([name, text]) => command(name, text)),
      ...factsOf(ids),
    ]),
  };
};

type EmailedAlert = Pick<Alert, 'event' | 'notice' | 'delayMs' | 'alarmUrl'>;

/** All values are escaped in the HTML. Only the body keeps format characters, which emoji and some languages need. */
export const emailMessage = (alert: EmailedAlert, timeZone = DEFAULT_TIME_ZONE): EmailMessage => {
  const timeOf = timesIn(timeZone);
  const timeText = (timeMs: number) => secondText(timeOf(timeMs));
  return alert.notice ? noticeEmail(alert, alert.notice, timeText) : alertEmail(alert, timeText);
};

type ListedAlarm = Summary['alarms'][number];

/** States were seen at different times, and newer alerts may have been sent since. */
const EXPLANATION = 'Each alarm has the state of its newest alert in this message. Later alerts arrive separately.';

type TimeOf = (timeMs: number) => ZonedTime;

/** The maximum length of the list of alarms as HTML, in bytes: Gmail clips emails above 102 KB. */
const MAX_LIST_BYTES = 90_000 - 2_000;

type SummaryItem = { state: AlarmState; minute: string; text: string; html: string };

/** Returns the items of a list. A minute has its date unless it is that of the newest alarm. */
const itemsOf = (alarms: readonly ListedAlarm[], timeOf: TimeOf): SummaryItem[] => {
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

const minuteHtml = (minute: string, items: readonly SummaryItem[]): string =>
  `<h3 style="margin:12px 0 0;font-size:14px">${minute}</h3>
<ul style="margin:4px 0;padding:0 20px">
${items.map(({ html }) => html).join('\n')}
</ul>`;

const fitting = (items: readonly SummaryItem[]): SummaryItem[] => {
  let [bytes, group] = [0, ''];
  return items.filter(({ state, minute, html }) => {
    const isFirst = group !== state + minute;
    group = state + minute;
    bytes += Buffer.byteLength(html) + 1 + (isFirst ? minuteHtml(minute, []).length : 0);
    return bytes <= MAX_LIST_BYTES;
  });
};

const sectionOf = (state: AlarmState, items: readonly SummaryItem[]) => {
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
