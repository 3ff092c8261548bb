import stringWidth from 'string-width';

const ELLIPSIS = '…';
const segmenter = new Intl.Segmenter();

/** Splits a text into what a reader sees as characters. */
const characters = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);

/** Returns the first characters of a list that are together at most `width` columns wide. */
const takeWidth = (list: readonly string[], width: number): string[] => {
  let count = 0;
  while (count < list.length && stringWidth(list.slice(0, count + 1).join('')) <= width) count++;
  return list.slice(0, count);
};

const startOf = (text: string, width: number): string => takeWidth(characters(text), width).join('');

const endOf = (text: string, width: number): string =>
  takeWidth(characters(text).toReversed(), width).toReversed().join('');

/** Cuts a text at its start or end to a width in columns of a terminal. */
export const truncateText = (text: string, width: number, at: 'start' | 'end'): string => {
  if (stringWidth(text) <= width) return text;
  return at === 'end' ? startOf(text, width - 1) + ELLIPSIS : ELLIPSIS + endOf(text, width - 1);
};

const cutMiddle = (text: string, width: number, tailWidth: number): string =>
  stringWidth(text) <= width ? text : startOf(text, width - 1 - tailWidth) + ELLIPSIS + endOf(text, tailWidth);

/** Returns the widths of the tail to try, the preferred one first. */
const tailWidths = (width: number, tailShare: number): number[] => {
  const preferred = Math.floor((width - 1) * tailShare);
  const others = Array.from({ length: width }, (_, tailWidth) => tailWidth);
  return [preferred, ...others.toSorted((left, right) => Math.abs(left - preferred) - Math.abs(right - preferred))];
};

/**
 * Shortens IDs in the middle, so that different IDs stay different: it moves the cut, and numbers the IDs if no cut
 * distinguishes them.
 *
 * @param width in columns of a terminal; at least the number of digits of the count of IDs plus two
 * @param tailShare the share of the end in a shortened ID, from 0 to 1, unless another one is needed
 * @returns the shortened IDs by ID
 */
export const shortenIds = (ids: readonly string[], width: number, tailShare = 1 / 3): ReadonlyMap<string, string> => {
  const distinct = [...new Set(ids)];
  for (const tailWidth of tailWidths(width, tailShare)) {
    const shortened = distinct.map((id) => cutMiddle(id, width, tailWidth));
    if (new Set(shortened).size === distinct.length) return new Map(zip(distinct, shortened));
  }
  return new Map(zip(distinct, numbered(distinct, width)));
};

const numbered = (ids: readonly string[], width: number): string[] => {
  const numberWidth = String(ids.length).length;
  return ids.map((id, index) => `${startOf(id, width - 2 - numberWidth)}${ELLIPSIS}#${index + 1}`);
};

const zip = (left: readonly string[], right: readonly string[]): [string, string][] =>
  left.map((value, index) => [value, right[index] ?? value]);

/**
 * Returns a function that tests whether a text is a shortened form of an ID, or undefined if the text is not shortened.
 * A number of `shortenIds` matches no ID of a notification, because these contain no `#`.
 */
export const shortenedIdMatcher = (text: string): ((id: string) => boolean) | undefined => {
  const [start = '', end, ...more] = text.split(ELLIPSIS);
  if (end === undefined || more.length > 0) return undefined;
  return (id) => id.length >= start.length + end.length && id.startsWith(start) && id.endsWith(end);
};
