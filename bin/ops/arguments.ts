import { type Command, InvalidArgumentError } from 'commander';
import { HEARTBEAT_TENANT, tenantId } from '../../shared/contracts/alarm-event.ts';
import { MAX_AUDIT_TEXT_LENGTH } from '../../shared/contracts/audit.ts';

/** Parses a tenant ID. @throws InvalidArgumentError */
export const parseTenant = (text: string): string => {
  if (text === HEARTBEAT_TENANT)
    throw new InvalidArgumentError('This tenant is reserved for heartbeats: pass another one.');
  if (tenantId.safeParse(text).success) return text;
  throw new InvalidArgumentError('A tenant ID is 1 to 128 printable ASCII characters without spaces.');
};

/** Parses a whole number from 1 to a maximum. @throws InvalidArgumentError */
export const parseNumber =
  (maximum: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= maximum) return number;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${maximum}.`);
  };

const UNITS_MS = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** A time with its zone. Without one, `Date.parse` would use that of the shell; a day alone is UTC. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

const timeOf = (text: string): number => Date.parse(ISO_TIME.test(text) ? text : '');

/** Parses a time. @returns ms since the epoch @throws InvalidArgumentError */
export const parseTime = (text: string): number => {
  const timeMs = timeOf(text);
  if (!Number.isNaN(timeMs)) return timeMs;
  throw new InvalidArgumentError('It must be a time such as 2026-12-01T10:00Z.');
};

/** Returns a duration such as `90m` in ms, or NaN. */
const durationOf = (text: string): number => {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return Number(count) * (UNITS_MS.get(unit) ?? Number.NaN);
};

/** Parses a duration from a minute to a year. @returns ms @throws InvalidArgumentError */
export const parseDuration = (text: string): number => {
  const durationMs = durationOf(text);
  if (durationMs >= 60_000 && durationMs <= 365 * 86_400_000) return durationMs;
  throw new InvalidArgumentError('It must be a duration from 1m to 365d, such as 2h.');
};

/** Parses a time, or a duration before now, such as `90m`. @returns ms since the epoch @throws InvalidArgumentError */
export const parseSince = (text: string): number => {
  const durationMs = durationOf(text);
  const sinceMs = Number.isNaN(durationMs) ? timeOf(text) : Date.now() - durationMs;
  if (!Number.isNaN(sinceMs)) return sinceMs;
  throw new InvalidArgumentError('It must be a duration such as 90m, 24h or 7d, or a time such as 2026-11-22T09:00Z.');
};

/** Checks the length of a text in code points. @throws InvalidArgumentError */
export const parseText =
  (minLength: number, maxLength: number) =>
  (text: string): string => {
    const length = [...text].length;
    if (length >= minLength && length <= maxLength) return text;
    throw new InvalidArgumentError(`It must have ${minLength} to ${maxLength} characters.`);
  };

/** Adds the option of every command that leaves an audit entry (`session.ts`). */
export const addWhy = (command: Command): Command =>
  command.option('--why <text>', 'the reason, which the audit keeps', parseText(1, MAX_AUDIT_TEXT_LENGTH));

/** Returns the examples section of a help page. */
export const examples = (...commands: string[]): string =>
  ['', 'Examples:', ...commands.map((command) => `  npm run -s ops -- ${command}`)].join('\n');
