/** Features of Node.js that the TypeScript library does not declare. */
declare global {
  interface JSON {
    /** Returns a value that `JSON.stringify` serializes as the given text. */
    rawJSON(text: string): { rawJSON: string };
    isRawJSON(value: unknown): value is { rawJSON: string };
  }
}

/** Returns the number that a text represents, or raw JSON with its digits if a double would change them. */
export const exactNumber = (text: string): number | { rawJSON: string } => {
  const number = Number(text);
  return String(number) === text ? number : JSON.rawJSON(text);
};

/**
 * While a text is parsed, numbers from here on stand for the numbers whose digits are preserved. Every number of the
 * text that is as large is among those, so that none is confused with them.
 */
const FIRST_PLACEHOLDER = 1e15;

/** Decimals with fewer characters have at most 15 digits, which a double represents. */
const MAX_EXACT_CHARACTERS = 16;

const [QUOTE, BACKSLASH, MINUS, PLUS, POINT] = [34, 92, 45, 43, 46];
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
/** Returns whether a number can contain a character after its integer and fraction, valid or not. */
const isInNumber = (code: number): boolean =>
  isDigit(code) || code === POINT || code === MINUS || code === PLUS || code === 69 || code === 101;

const endOfDigits = (text: string, start: number): number => {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
};

/** Returns the position after the string that starts at `start`, or the end of the text if it does not end. */
export const endOfString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let backslash = end;
    while (text.charCodeAt(backslash - 1) === BACKSLASH) backslash--;
    if ((end - backslash) % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
};

/** Returns whether `JSON.parse` and `JSON.stringify` return the number unchanged, and it is no placeholder. */
const isKept = (number: string): boolean => String(Number(number)) === number && Number(number) < FIRST_PLACEHOLDER;

/** Returns whether `isKept` is certain for a decimal without an exponent, from its length and its last digit. */
const isShort = (text: string, start: number, digits: number, end: number): boolean => {
  if (end - start > MAX_EXACT_CHARACTERS) return false;
  const isInteger = endOfDigits(text, digits) === end;
  if (isInteger) return end - digits < MAX_EXACT_CHARACTERS && !text.startsWith('-0', start);
  return isDigit(text.charCodeAt(end - 1)) && !text.endsWith('0', end) && !text.startsWith('0.000000', digits);
};

/** Longer numbers rarely repeat. */
const MAX_CACHED_CHARACTERS = 8;

/** Creates the placeholders of a text. It remembers those of short numbers such as `1.0`, which often repeat. */
const createPlaceholders = () => {
  const numbers: unknown[] = [];
  const known = new Map<string, string | undefined>();

  const create = (number: string): string | undefined => {
    if (isKept(number)) return undefined;
    numbers.push(exactNumber(number));
    return String(FIRST_PLACEHOLDER + numbers.length - 1);
  };

  return {
    numbers,
    /**
     * Returns the placeholder of a number, or undefined if `JSON.parse` keeps it.
     *
     * @throws SyntaxError if it is not a number of JSON
     */
    placeholder: (number: string): string | undefined => {
      if (number.length > MAX_CACHED_CHARACTERS) return create(number);
      if (known.has(number)) return known.get(number);
      const created = create(number);
      known.set(number, created);
      return created;
    },
  };
};

/** Replaces the numbers that `JSON.parse` would not keep with placeholders. @throws SyntaxError */
const withPlaceholders = (text: string): { text: string; numbers: unknown[] } => {
  const { numbers, placeholder } = createPlaceholders();
  const parts: string[] = [];
  let copiedTo = 0;
  let position = 0;
  while (position < text.length) {
    const code = text.charCodeAt(position);
    if (code === QUOTE) {
      position = endOfString(text, position);
    } else if (isDigit(code) || code === MINUS) {
      const start = position;
      const digits = code === MINUS ? start + 1 : start;
      const integerEnd = endOfDigits(text, digits);
      const decimalEnd = text.charCodeAt(integerEnd) === POINT ? endOfDigits(text, integerEnd + 1) : integerEnd;
      position = decimalEnd;
      while (isInNumber(text.charCodeAt(position))) position++;
      if (position === decimalEnd && isShort(text, start, digits, position)) continue;
      const replacement = placeholder(text.slice(start, position));
      if (replacement === undefined) continue;
      parts.push(text.slice(copiedTo, start), replacement);
      copiedTo = position;
    } else {
      position++;
    }
  }
  return { text: copiedTo === 0 ? text : parts.join('') + text.slice(copiedTo), numbers };
};

type Container = unknown[] | Record<string, unknown>;
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** Replaces the placeholders in a parsed value with their numbers, at any depth. */
const withoutPlaceholders = (value: unknown, numbers: readonly unknown[]): unknown => {
  const root = [value];
  const containers: Container[] = [root];
  const numberOf = (each: unknown): unknown => {
    if (typeof each === 'number' && each >= FIRST_PLACEHOLDER) return numbers[each - FIRST_PLACEHOLDER];
    if (isContainer(each)) containers.push(each);
    return undefined;
  };
  for (let container = containers.pop(); container; container = containers.pop()) {
    if (Array.isArray(container)) {
      for (let index = 0; index < container.length; index++) {
        const number = numberOf(container[index]);
        if (number !== undefined) container[index] = number;
      }
    } else {
      for (const key of Object.keys(container)) {
        const number = numberOf(container[key]);
        if (number !== undefined) container[key] = number;
      }
    }
  }
  return root[0];
};

/**
 * Parses JSON and preserves the digits of numbers: `JSON.stringify` of the result returns each number as it is in the
 * text, for example 64-bit IDs and `1.0`. A reviver would do the same, but takes about ten times as long for an event
 * full of numbers.
 *
 * @throws SyntaxError if the text is not JSON
 */
export const parseJson = (text: string): unknown => {
  const { text: parsable, numbers } = withPlaceholders(text);
  const value: unknown = JSON.parse(parsable);
  return numbers.length === 0 ? value : withoutPlaceholders(value, numbers);
};

/** Converts a number that `parseJson` preserved as text to the nearest double. Returns other values unchanged. */
export const asNumber = (value: unknown): unknown => (JSON.isRawJSON(value) ? Number(value.rawJSON) : value);

/** Returns whether a parsed value is an object of JSON: no list, and no number that `parseJson` preserved as text. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
