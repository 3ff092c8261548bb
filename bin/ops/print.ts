import { styleText } from 'node:util';

/** A color or text style. */
export type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Colors a text if standard output is a terminal and NO_COLOR is not set. */
export const colorize = (color: Color, text: string): string => styleText(color, text, { stream: process.stdout });

/** Replaces control characters in untrusted text, such as IDs and labels. */
export const sanitize = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');

/** Formats a timestamp in ms as ISO 8601 in UTC, to the second. */
export const formatTime = (timestampMs: number): string => `${new Date(timestampMs).toISOString().slice(0, 19)}Z`;

/** Returns `1 message`, `2 messages` and so on. */
export const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
