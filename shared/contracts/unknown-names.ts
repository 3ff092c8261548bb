import { closestMatch } from 'leven';
import { truncateKey } from './text.ts';

/** In UTF-16 units: the time is the product of the lengths. */
const MAX_COMPARED_LENGTH = 64;
const MAX_NAMES = 10;

const plain = (name: string): string => name.toLowerCase().replace(/[_-]/g, '');

/** Ignores case and separators. Returns undefined if more than 40% of the characters differ, rounded up. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  const names = new Map(known.map((each) => [plain(each), each]));
  const compared = plain(name.slice(0, MAX_COMPARED_LENGTH));
  const maxDistance = Math.ceil(compared.length * 0.4);
  return names.get(closestMatch(compared, [...names.keys()], { maxDistance }) ?? '');
};

/** Each error has the nearest known name, or all if none is near. @param what such as `attribute` */
export const unknownNameErrors = (what: string, given: Iterable<string>, known: readonly string[]): string[] => {
  const unknown = [...new Set(given)].filter((name) => !known.includes(name));
  const errors = unknown.slice(0, MAX_NAMES).map((name) => {
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? `known: ${known.join(', ') || 'none'}` : `did you mean ${nearest}?`;
    return `${truncateKey(name)}: is an unknown ${what} (${hint})`;
  });
  return unknown.length > MAX_NAMES ? [...errors, `${unknown.length - MAX_NAMES} more are unknown`] : errors;
};
