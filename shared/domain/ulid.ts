import { randomInt } from 'node:crypto';
import { ulid as createUlid, monotonicFactory } from 'ulid';

const RANGE = 2 ** 32;

/** The library's default loads the Web Crypto API, which takes more than a millisecond of a cold start. */
const random = (): number => randomInt(RANGE) / RANGE;

/** @param timeMs ms since the epoch, now by default */
export const ulid = (timeMs?: number): string => createUlid(timeMs, random);

export const isPrefixedUlid = (prefix: string, text: string): boolean =>
  text.startsWith(prefix) && /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text.slice(prefix.length));

/** They sort in the order of their creation. */
export const createMonotonicUlids = (): (() => string) => monotonicFactory(random);
