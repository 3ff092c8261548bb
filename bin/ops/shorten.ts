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

/**
 * Shortens an ID in the middle, where those of a table differ least.
 *
 * @param width in columns of a terminal
 * @param tailShare the share of the end in a shortened ID, from 0 to 1
 */
export const shortenId = (id: string, width: number, tailShare = 1 / 3): string => {
  if (stringWidth(id) <= width) return id;
  const tailWidth = Math.floor((width - 1) * tailShare);
  return startOf(id, width - 1 - tailWidth) + ELLIPSIS + endOf(id, tailWidth);
};

/**
 * Returns a function that tests whether a text is a shortened form of an ID, or undefined if the text is not shortened.
 */
export const shortenedIdMatcher = (text: string): ((id: string) => boolean) | undefined => {
  const [start = '', end, ...more] = text.split(ELLIPSIS);
  if (end === undefined || more.length > 0) return undefined;
  return (id) => id.length >= start.length + end.length && id.startsWith(start) && id.endsWith(end);
};
