/** An error response of SES. */
export type SesError = {
  type: string;
  message: string;
};

/** The maximum size of an encoded message in SES v1 (service quotas of Amazon SES). */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_TAGS = 50;
const TAG_TEXT = /^[A-Za-z0-9_-]{1,256}$/;

/**
 * Returns the error for the tags of a `SendEmail`, or undefined if they are valid:
 * https://docs.aws.amazon.com/ses/latest/APIReference/API_MessageTag.html.
 */
export const findTagError = (form: URLSearchParams): SesError | undefined => {
  const texts = [...form].filter(([name]) => /^Tags\.member\.\d+\.(Name|Value)$/.test(name));
  const invalidText = texts.find(([, text]) => !TAG_TEXT.test(text));
  if (invalidText) {
    const part = invalidText[0].endsWith('.Name') ? 'name' : 'value';
    return invalid(
      `Invalid tag ${part} <${invalidText[1]}>, only alphanumeric ASCII characters, '_', and '-' are allowed, 256 at most.`,
    );
  }
  const names = texts.filter(([name]) => name.endsWith('.Name')).map(([, text]) => text);
  const valueCount = texts.length - names.length;
  if (valueCount !== names.length) return invalid('A tag must have a name and a value.');
  if (new Set(names).size < names.length) return invalid('Duplicate message tag names are not allowed.');
  return names.length > MAX_TAGS ? invalid(`The number of tags exceeds ${MAX_TAGS}.`) : undefined;
};

/** Returns the error for a message whose parts exceed the size limit when encoded, or undefined. */
export const findSizeError = (...texts: string[]): SesError | undefined => {
  const bytes = texts.reduce((sum, text) => sum + encodedBytes(text), 0);
  if (bytes <= MAX_MESSAGE_BYTES) return undefined;
  return invalid(`Message length is more than ${MAX_MESSAGE_BYTES} bytes long: '${bytes}'.`);
};

/** ASCII text is not encoded; of other text, quoted-printable needs at most three bytes for each byte. */
const encodedBytes = (text: string): number => {
  const bytes = Buffer.byteLength(text);
  return bytes === text.length ? bytes : 3 * bytes;
};

const invalid = (message: string): SesError => ({ type: 'InvalidParameterValue', message });
