import { escape as escapeHtml } from 'html-escaper';
import type { AlarmState } from '../../contracts/alarm-event.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { plainLine } from '../../domain/alert-text.ts';
import { type SummarizedAlarm, type Summary, statesBySeverity } from '../../domain/summary.ts';
import { type EmailMessage, stateColors } from './email-message.ts';
import { fitsSms, smsPart } from './sms-message.ts';

const formatCount = (count: number): string => count.toLocaleString('en-US');

const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

const headings: Record<AlarmState, string> = {
  CRITICAL: 'CRITICAL now',
  WARNING: 'WARNING now',
  OK: 'Recovered: OK now',
};

/** Returns the number of alerts, and of alarms in each state: `17 alerts of 12 alarms: 5 CRITICAL, 7 OK`. */
const headingOf = ({ count, alarmCounts }: Summary): string => {
  const alarms = statesBySeverity.reduce((sum, state) => sum + alarmCounts[state], 0);
  const states = statesBySeverity
    .filter((state) => alarmCounts[state] > 0)
    .map((state) => `${formatCount(alarmCounts[state])} ${state}`);
  return `${plural(count, 'alert')} of ${plural(alarms, 'alarm')}: ${states.join(', ')}`;
};

/** Returns a time as `2026-11-22 00:20:31 UTC`. */
const time = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const details = ({ sinceMs, changes }: SummarizedAlarm): string =>
  `since ${time(sinceMs)}, ${plural(changes, 'change')}`;

/** The alarms of a state, and how many of them are not listed. */
const sectionsOf = (summary: Summary) =>
  statesBySeverity
    .map((state) => {
      const listed = summary.alarms.filter((alarm) => alarm.state === state);
      return { state, listed, more: summary.alarmCounts[state] - listed.length };
    })
    .filter(({ listed }) => listed.length > 0);

const moreText = (more: number): string[] => (more > 0 ? [`and ${formatCount(more)} more`] : []);

/**
 * Returns the email of a summary: what is wrong now, most severe first, then what has recovered; one line per alarm,
 * readable on a phone.
 *
 * @param notice its period, and why alerts are summarized
 */
export const summaryEmail = (summary: Summary, { subject, paragraphs }: NoticeContent): EmailMessage => {
  const heading = headingOf(summary);
  const ended =
    summary.unevaluated > 0
      ? [`${plural(summary.unevaluated, 'older alert')} of these alarms or others were not evaluated.`]
      : [];
  const introduction = [`${subject}.`, ...paragraphs];
  const sections = sectionsOf(summary);
  const text = sections.map(({ state, listed, more }) =>
    [
      headings[state],
      ...listed.map((alarm) => `- ${alarm.name} (${details(alarm)})`),
      ...moreText(more).map((line) => `- ${line}`),
    ].join('\n'),
  );
  const html = sections.map(({ state, listed, more }) => {
    const items = listed.map(
      (alarm) => `<li><b>${escapeHtml(alarm.name)}</b><br><small>${escapeHtml(details(alarm))}</small></li>`,
    );
    const rest = moreText(more).map((line) => `<li>${line}</li>`);
    return `<h3 style="color:${stateColors[state]}">${headings[state]}</h3>\n<ul style="padding-left:18px">${[...items, ...rest].join('\n')}</ul>`;
  });
  const paragraph = (line: string): string => `<p>${escapeHtml(line)}</p>`;
  return {
    subject: heading,
    text: `${[heading, ...introduction, ...text, ...ended].join('\n\n')}\n`,
    html: [
      '<!doctype html><html><head><meta name="viewport" content="width=device-width"></head><body style="font-family:sans-serif;overflow-wrap:anywhere">',
      `<h2>${escapeHtml(heading)}</h2>`,
      ...introduction.map(paragraph),
      ...html,
      ...ended.map(paragraph),
      '</body></html>',
    ].join('\n'),
  };
};

/**
 * Returns the SMS of a summary: alarms per state, then the names that fit into one part, or else the beginning of the
 * first.
 */
export const summarySms = (summary: Summary): string => {
  const heading = headingOf(summary);
  let text = heading;
  for (const { name } of summary.alarms) {
    const longer = `${text}${text === heading ? '. ' : ', '}${plainLine(name)}`;
    if (fitsSms(longer)) text = longer;
  }
  const withFirst = smsPart(`${heading}. ${summary.alarms[0]?.name}`);
  return text === heading && withFirst.startsWith(heading) ? withFirst : smsPart(text);
};
