import { escape as escapeHtml } from 'html-escaper';
import type { AlarmEvent } from '../../contracts/alarm-event.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { facts, headline, noticeSubject, subjectLine } from '../../domain/alert-text.ts';

/** An email about an alarm event, as plain text and as HTML. */
export type EmailMessage = { subject: string; text: string; html: string };

/** The color of each state in HTML. */
export const stateColors = { OK: '#2e7d32', WARNING: '#b26a00', CRITICAL: '#c62828' } as const;

/**
 * Returns the email for an event or a notice, with all values escaped in the HTML. Only the body keeps format
 * characters, which emoji and some languages need.
 */
export const emailMessage = (event: AlarmEvent, notice?: NoticeContent): EmailMessage => {
  const heading = notice ? noticeSubject(notice) : headline(event);
  const paragraphs = notice?.paragraphs ?? [];
  const rows = notice?.facts ?? facts(event);
  const htmlRows = rows.map(
    ([name, value]) =>
      `<tr><th style="text-align:left;padding:2px 12px 2px 0">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  return {
    subject: notice ? heading : subjectLine(event),
    text: `${[heading, ...paragraphs].join('\n\n')}\n\n${rows.map(([name, value]) => `${name}: ${value}`).join('\n')}\n`,
    html: [
      '<!doctype html><html><body style="font-family:sans-serif">',
      `<h2 style="color:${stateColors[event.details.state]}">${escapeHtml(heading)}</h2>`,
      ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
      `<table>${htmlRows.join('')}</table>`,
      '</body></html>',
    ].join('\n'),
  };
};
