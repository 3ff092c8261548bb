import * as z from 'zod/mini';
import { boundedText } from './text.ts';

export const DEFAULT_TIME_ZONE = 'UTC';

/** The longest in use has 32 characters. */
export const MAX_TIME_ZONE_LENGTH = 64;

const TIME_ZONE_RULE = 'must be the name of an IANA time zone, such as Europe/Berlin';

/** Intl accepts offsets such as `+01:00`, too. */
const isTimeZone = (name: string): boolean => {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en-US', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
};

/** A time zone that this version of Node.js knows, in any case. */
export const timeZone = boundedText(
  { max: MAX_TIME_ZONE_LENGTH, rule: TIME_ZONE_RULE },
  z.refine(isTimeZone, TIME_ZONE_RULE),
);
