import type { NoticeContent } from '../../contracts/notice.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import {
  factLines,
  factTexts,
  headline,
  LINK_TEXT,
  lateState,
  linkLines,
  noticeFacts,
  noticeSubject,
  noticeText,
  secondText,
  subjectLine,
  type TimeText,
  timesIn,
} from '../../domain/alert-text.ts';
import type { Alert } from '../../domain/transport.ts';
import { button, command, emailPage, fact, lineOf, paragraph } from './email-page.ts';

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
