/** Features of Node.js that the TypeScript library does not declare. */
declare global {
  interface JSON {
    /** Returns a value that `JSON.stringify` serializes as the given text. */
    rawJSON(text: string): { rawJSON: string };
    isRawJSON(value: unknown): value is { rawJSON: string };
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  }
}

/** Returns the number that a text represents, or raw JSON with its digits if a double would change them. */
export const exactNumber = (text: string): number | { rawJSON: string } => {
  const number = Number(text);
  return String(number) === text ? number : JSON.rawJSON(text);
};

/** Matches digits that may exceed the precision of a double. */
const LONG_NUMBER = /[\d.]{16,}|\d[eE][+-]?\d/;

/**
 * Parses JSON without rounding numbers: `JSON.stringify` of the result returns them unchanged, for example 64-bit IDs.
 * The reviver is slow, so it runs only if there are long numbers.
 *
 * @throws SyntaxError if the text is not JSON
 */
export const parseJson = (text: string): unknown =>
  LONG_NUMBER.test(text)
    ? JSON.parse(text, (_key, value, { source }) =>
        typeof value === 'number' && source !== undefined ? exactNumber(source) : value,
      )
    : JSON.parse(text);

/** Converts a number that `parseJson` preserved as text to the nearest double. Returns other values unchanged. */
export const asNumber = (value: unknown): unknown => (JSON.isRawJSON(value) ? Number(value.rawJSON) : value);

/** Returns whether a parsed value is an object of JSON: no list, and no number that `parseJson` preserved as text. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
