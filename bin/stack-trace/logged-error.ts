import { z } from 'zod';
import { isStackFrame } from './stack-frame.ts';

/** An error with stack frames in a log. */
export type LoggedError = {
  /** What the log line says happened, such as `internal error`; null for other text than a log line of the service. */
  event: string | null;
  /** The class and code of the error, and its message, which only Lambda itself logs. */
  error: string | null;
  code: string | null;
  message: string | null;
  release: string | null;
  /** The frames as V8 formats them. */
  frames: string[];
};

/**
 * Returns the errors in text from a log: lines of the service or of Lambda with or without a prefix such as a
 * timestamp, the JSON output of `aws logs`, or a stack trace by itself.
 */
export const loggedErrors = (text: string): LoggedError[] => {
  const document = parseJson(text);
  if (document !== undefined) return errorsInValue(document, NOTHING);
  const errors: LoggedError[] = [];
  let plain: string[] = [];
  const endPlain = () => {
    errors.push(...errorsInStack(plain, NOTHING));
    plain = [];
  };
  for (const line of text.split('\n')) {
    const start = line.indexOf('{');
    const value = start < 0 ? undefined : parseJson(line.slice(start));
    if (value || (plain.some(isStackFrame) && !isStackFrame(line))) endPlain();
    if (value) errors.push(...errorsInValue(value, NOTHING));
    else plain.push(line);
  }
  endPlain();
  return errors;
};

const NOTHING: LoggedError = { event: null, error: null, code: null, message: null, release: null, frames: [] };

const parseJson = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

const text = z.string().nullable().catch(null);
/** The form of a release (`lib/bundles.ts`). */
export const RELEASE = /^[0-9a-f]{16}$/;

const fields = z.object({
  message: text,
  release: z.string().regex(RELEASE).nullable().catch(null),
  error: text,
  code: text,
  errorType: text,
  errorMessage: text,
});

/** Returns the errors in a JSON value. `outer` has the fields of the line around it. */
const errorsInValue = (value: unknown, outer: LoggedError): LoggedError[] => {
  if (typeof value === 'string') {
    const document = parseJson(value);
    return document ? errorsInValue(document, outer) : errorsInStack(value.split('\n'), outer);
  }
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) {
    const lines = value.filter((item) => typeof item === 'string');
    if (lines.some(isStackFrame)) return errorsInStack(lines, outer);
    return value.flatMap((item) => errorsInValue(item, outer));
  }
  const own = fields.parse(value);
  const described = {
    ...outer,
    event: own.message === null || hasStack(own.message) ? outer.event : own.message,
    release: own.release ?? outer.release,
    error: own.error ?? own.errorType ?? outer.error,
    code: own.code ?? outer.code,
    message: own.errorMessage ?? outer.message,
  };
  return Object.values(value).flatMap((item) => errorsInValue(item, described));
};

const hasStack = (message: string): boolean => message.includes('\n') || message.startsWith('{');

/** A stack trace: a line such as `TypeError: message`, unless the class is known, and frames. */
const errorsInStack = (lines: readonly string[], outer: LoggedError): LoggedError[] => {
  const frames = lines.filter(isStackFrame).map((line) => line.trim());
  if (frames.length === 0) return [];
  const header = lines.slice(0, lines.findIndex(isStackFrame)).findLast((line) => line.trim() !== '') ?? '';
  const { error = null, message = null } =
    /(?<error>[A-Z$][\w$]*(?:\.\w+)*)(?:: (?<message>.*))?$/.exec(header)?.groups ?? {};
  return [{ ...outer, error: outer.error ?? error, message: outer.message ?? message, frames }];
};
