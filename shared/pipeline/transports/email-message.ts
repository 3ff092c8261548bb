import { escape as escapeHtml } from 'html-escaper';
import type { EventHeader } from '../../contracts/event-header.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { headline, noticeSubject, subjectLine } from '../../domain/alert-text.ts';

/** An email about an alarm event, as plain text and as HTML. */
export type EmailMessage = { subject: string; text: string; html: string };

/** The color of each state in HTML. */
export const stateColors = { OK: '#2e7d32', WARNING: '#b26a00', CRITICAL: '#c62828' } as const;

/** Alerts that are sent later than this after SQS accepted them say so. */
const MAX_UNMENTIONED_DELAY_MS = 120_000;

/** Returns ` (delayed by 7 minutes)`, or nothing for a short delay. From two hours on, it is in hours. */
const delayText = (delayMs: number): string => {
  if (delayMs <= MAX_UNMENTIONED_DELAY_MS) return '';
  const minutes = Math.floor(delayMs / 60_000);
  return ` (delayed by ${minutes < 120 ? `${minutes} minutes` : `${Math.floor(minutes / 60)} hours`})`;
};

/**
 * Returns the email for an event or a notice, with all values escaped in the HTML. Only the body keeps format
 * characters, which emoji and some languages need.
 *
 * @param delayMs the time since SQS accepted the event, which an alert mentions after its state
 */
export const emailMessage = (event: EventHeader, notice?: NoticeContent, delayMs = 0): EmailMessage => {
  const state = `[${event.state}]`;
  const withDelay = (text: string): string => text.replace(state, () => state + delayText(delayMs));
  const heading = notice ? noticeSubject(notice) : withDelay(headline(event));
  const paragraphs = notice?.paragraphs ?? [];
  const rows = notice?.facts ?? event.facts;
  const htmlRows = rows.map(
    ([name, value]) =>
      `<tr><th style="text-align:left;padding:2px 12px 2px 0">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  return {
    subject: notice ? heading : withDelay(subjectLine(event)),
    text: `${[heading, ...paragraphs].join('\n\n')}\n\n${rows.map(([name, value]) => `${name}: ${value}`).join('\n')}\n`,
    html: [
      '<!doctype html><html><body style="font-family:sans-serif">',
      `<h2 style="color:${stateColors[event.state]}">${escapeHtml(heading)}</h2>`,
      ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
      `<table>${htmlRows.join('')}</table>`,
      '</body></html>',
    ].join('\n'),
  };
};
