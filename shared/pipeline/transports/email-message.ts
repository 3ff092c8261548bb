import type { EventHeader } from '../../contracts/event-header.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import {
  factLines,
  factTexts,
  headline,
  noticeFacts,
  noticeSubject,
  noticeText,
  secondText,
  subjectLine,
  type TimeText,
  timesIn,
} from '../../domain/alert-text.ts';
import { command, emailPage, fact, paragraph } from './email-page.ts';

/** An email about an alarm event, as plain text and as HTML. */
export type EmailMessage = { subject: string; text: string; html: string };

/** Alerts that are sent later than this after SQS accepted them say so. */
const MAX_UNMENTIONED_DELAY_MS = 120_000;

/** Returns ` (delayed by 7 minutes)`, or nothing for a short delay. From two hours on, it is in hours. */
const delayText = (delayMs: number): string => {
  if (delayMs <= MAX_UNMENTIONED_DELAY_MS) return '';
  const minutes = Math.floor(delayMs / 60_000);
  return ` (delayed by ${minutes < 120 ? `${minutes} minutes` : `${Math.floor(minutes / 60)} hours`})`;
};

/**
 * Returns the email of an alert. What, where, the status and since when come first in the HTML, and nothing of it twice;
 * the ID of the event comes last.
 */
const alertEmail = (event: EventHeader, delayMs: number, timeText: TimeText): EmailMessage => {
  const { state, facts } = event;
  const rows = factTexts(facts, timeText);
  const bar = state + delayText(delayMs);
  const withDelay = (line: string): string => line.replace(`[${state}]`, () => `[${state}]${delayText(delayMs)}`);
  const heading = headline(event).slice(`[${state}] `.length);
  const rowNamed = (wanted: string) => rows.find(([name]) => name === wanted);
  const status = rowNamed('Status');
  const shownAbove = [
    status,
    ...['State', 'Entity', 'Alarm'].map(rowNamed).filter((row) => row && `${state}: ${heading}`.includes(row[1])),
  ];
  return {
    subject: withDelay(subjectLine(event)),
    text: `${withDelay(headline(event))}\n\n${factLines(rows)}\n`,
    html: emailPage(state, bar, heading, [
      ...(status ? [paragraph(status[1])] : []),
      ...rows.filter((row) => !shownAbove.includes(row)).map(([name, value]) => fact(name, value)),
    ]),
  };
};

const noticeEmail = ({ state }: EventHeader, notice: NoticeContent, timeText: TimeText): EmailMessage => {
  const subject = noticeSubject(notice);
  const { first, ids } = noticeFacts(notice);
  const factsOf = (facts: NoticeContent['facts']) => factTexts(facts, timeText).map(([name, text]) => fact(name, text));
  return {
    subject,
    text: `${subject}\n\n${noticeText(notice, timeText)}\n`,
    html: emailPage(state, state, subject, [
      ...notice.paragraphs.map(paragraph),
      ...factsOf(first),
      ...(notice.commands ?? []).map(([name, text]) => command(name, text)),
      ...factsOf(ids),
    ]),
  };
};

/**
 * Returns the email for an event or a notice, with all values escaped in the HTML. Only the body keeps format
 * characters, which emoji and some languages need.
 *
 * @param delayMs the time since SQS accepted the event, which an alert mentions after its state
 * @param timeZone in which it shows times, by default UTC
 */
export const emailMessage = (
  event: EventHeader,
  notice?: NoticeContent,
  delayMs = 0,
  timeZone = DEFAULT_TIME_ZONE,
): EmailMessage => {
  const timeOf = timesIn(timeZone);
  const timeText = (timeMs: number) => secondText(timeOf(timeMs));
  return notice ? noticeEmail(event, notice, timeText) : alertEmail(event, delayMs, timeText);
};
