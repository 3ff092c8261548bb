declare const brand: unique symbol;

/** JSON that SQS accepts as the body of a message. Only `messageBody` creates it, so no other text can be sent. */
export type MessageBody = string & { readonly [brand]: true };

/**
 * XML 1.0 excludes these characters, so SQS rejects messages that contain them. JSON escapes all others that it does.
 */
const NOT_IN_XML = /[\ufffe\uffff]/g;

/** `includes` is faster than a regular expression, and at once false for a text of Latin-1 characters. */
const isMessageBody = (json: string): json is MessageBody => !json.includes('\ufffe') && !json.includes('\uffff');

/**
 * Returns JSON, such as a received body or the concatenation of others, as the body of a message: it escapes the
 * characters that SQS rejects, which JSON permits in strings. Other JSON is returned as it is.
 */
export const messageBody = (json: string): MessageBody =>
  isMessageBody(json)
    ? json
    : messageBody(json.replace(NOT_IN_XML, (character) => `\\u${character.charCodeAt(0).toString(16)}`));

/**
 * Serializes a value as the body of a message.
 *
 * @throws RangeError if the value nests too deep
 */
export const serializeBody = (value: unknown): MessageBody => messageBody(JSON.stringify(value));
