/** ES2026, in Node 22 and later, not yet in TypeScript's library. */
declare global {
  interface JSON {
    /** A value that JSON.stringify writes out as this text. */
    rawJSON(text: string): { rawJSON: string };
    isRawJSON(value: unknown): value is { rawJSON: string };
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  }
}

/** A run of digits (with a point or exponent) that a double may not hold to the last place. */
const longNumber = /[\d.]{16,}|\d[eE][+-]?\d/;

/**
 * Parses JSON so that `JSON.stringify` gives the numbers back as they came: 64-bit ids and counters in an alert must reach
 * the receiver unrounded. Texts without long numbers, nearly all, take the plain path.
 *
 * @throws SyntaxError where the text is not JSON
 */
export const parseJson = (text: string): unknown =>
  longNumber.test(text)
    ? JSON.parse(text, (_key, value, { source }) =>
        typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value,
      )
    : JSON.parse(text);

/** A number that `parseJson` kept as its text, as the number that it is nearest to; anything else as it is. */
export const asNumber = (value: unknown): unknown => (JSON.isRawJSON(value) ? Number(value.rawJSON) : value);

/** XML 1.0 has no such characters, so SQS refuses a message that contains one; JSON may write them as escapes. */
const notInXml = /[\ufffe\uffff]/g;

/**
 * Writes a value as JSON that SQS accepts as a message.
 *
 * @throws RangeError where the value nests too deep
 */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(notInXml, (character) => `\\u${character.charCodeAt(0).toString(16)}`);
