export type SesError = {
  type: string;
  message: string;
};

/** The maximum size of a message in SES v1, with its parts encoded (service quotas of Amazon SES). */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_TAGS = 50;
const TAG_TEXT = /^[A-Za-z0-9_-]{1,256}$/;

/**
 * Returns the error for the tags of a `SendRawEmail`, or undefined if they are valid:
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

/** The maximum length of a line without its line end (RFC 5322, section 2.1.1). */
const MAX_LINE_LENGTH = 998;

/** The headers of which a message has exactly one, and at most one (RFC 5322, section 3.6). */
const REQUIRED_HEADERS = ['From'];
const SINGLE_HEADERS = ['From', 'Reply-To', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'];

/**
 * Returns the error for a raw message, or undefined if it is valid: its size, headers, and lines of ASCII that end with
 * CR LF. https://docs.aws.amazon.com/ses/latest/APIReference/API_SendRawEmail.html
 */
export const findMessageError = (raw: Buffer): SesError | undefined => {
  if (raw.length === 0) return { type: 'ValidationError', message: "Value null at 'rawMessage.data' is not allowed." };
  if (raw.length > MAX_MESSAGE_BYTES)
    return invalid(`Message length is more than ${MAX_MESSAGE_BYTES} bytes long: '${raw.length}'.`);
  const lines = raw.toString('latin1').split('\r\n');
  const isPlain = lines.every((line) => line.length <= MAX_LINE_LENGTH && /^[\t\x20-\x7e]*$/.test(line));
  if (!isPlain) return invalid('A line is too long, or has characters that must be encoded.');
  const end = lines.indexOf('');
  if (end < 1) return invalid('The message has no empty line after its headers.');
  const headers = lines.slice(0, end).filter((line) => !/^[\t ]/.test(line));
  const malformed = headers.find((line) => !/^[!-9;-~]+:/.test(line));
  if (malformed !== undefined) return invalid(`Malformed header '${malformed}'.`);
  const count = (name: string) =>
    headers.filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`)).length;
  const missing = REQUIRED_HEADERS.find((name) => count(name) === 0);
  if (missing !== undefined) return invalid(`Missing required header '${missing}'.`);
  const repeated = SINGLE_HEADERS.find((name) => count(name) > 1);
  return repeated === undefined ? undefined : invalid(`Duplicate header '${repeated}'.`);
};

const invalid = (message: string): SesError => ({ type: 'InvalidParameterValue', message });
