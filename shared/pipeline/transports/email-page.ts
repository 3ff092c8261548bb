import { escape as escapeHtml } from 'html-escaper';
import type { AlarmState } from '../../contracts/alarm-event.ts';

/** The colors of the states, on which white text is readable. */
const stateColors: Record<AlarmState, string> = { OK: '#2e7d32', WARNING: '#9a5b00', CRITICAL: '#c62828' };

/** The color of a state and white text, in bold. */
const stateStyle = (state: AlarmState): string =>
  `padding:8px 16px;background:${stateColors[state]};color:#fff;font-weight:bold`;

/** Returns a text with its line breaks. */
const lines = (text: string): string => escapeHtml(text).replaceAll('\n', '<br>');

/** Returns a paragraph, in the direction of its text. */
export const paragraph = (text: string): string => `<p dir="auto" style="margin:12px 16px">${lines(text)}</p>`;

/** Returns a heading with the color of a state. */
export const stateHeading = (state: AlarmState): string =>
  `<h2 style="margin:16px 0 0;${stateStyle(state)};font-size:16px">${state}</h2>`;

/** The start of what has a name above it. */
const named = (name: string): string =>
  `<p dir="auto" style="margin:12px 16px 0;font-size:13px">${escapeHtml(name)}</p>`;

/** Returns a value below its name. */
export const fact = (name: string, value: string): string =>
  `${named(name)}<p dir="auto" style="margin:0 16px">${lines(value)}</p>`;

/** Returns a name and its value on one line. */
export const lineOf = (name: string, value: string): string =>
  `<p dir="auto" style="margin:4px 16px"><span style="font-size:13px">${escapeHtml(name)}</span> ${lines(value)}</p>`;

/** Returns a link as a button. */
export const button = (text: string, url: string): string =>
  `<p style="margin:16px"><a href="${escapeHtml(url)}" style="display:inline-block;padding:8px 16px;border:1px solid #888;border-radius:4px;color:inherit;font-weight:bold;text-decoration:none">${escapeHtml(text)}</a></p>`;

/** Returns a command to copy, below what it does. */
export const command = (name: string, text: string): string =>
  `${named(name)}<pre style="margin:4px 16px;padding:8px;border:1px solid #888;white-space:pre-wrap;font-size:13px">${escapeHtml(text)}</pre>`;

const END = '</td></tr></table></body></html>';

/** Adds a last paragraph to an email, which ends with a link. */
export const withFooter = (html: string, text: string, link: { text: string; url: string }): string =>
  [
    html.slice(0, -END.length),
    '<p dir="auto" style="margin:16px 16px 0;padding-top:12px;border-top:1px solid #888;font-size:13px">',
    `${escapeHtml(text)} <a href="${escapeHtml(link.url)}">${escapeHtml(link.text)}</a></p>`,
    END,
  ].join('');

/**
 * Returns an email as HTML: the state as a bar in its color, a heading, then `parts`. It fits the screen of a phone,
 * whatever the texts are: nothing has a width of its own, and words break anywhere. Colors other than those of states are
 * left to the email client, which may be dark. Email clients support only inline styles, on tables best.
 *
 * @param bar the state, and what belongs to it
 * @param parts HTML
 */
export const emailPage = (state: AlarmState, bar: string, heading: string, parts: readonly string[]): string =>
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
