/** Why SES refuses a request, as its error says. */
export interface SesProblem {
  type: string;
  message: string;
}

/** The most that SES v1 takes for a message, encoded for its transport (service quotas of Amazon SES). */
const maximumMessageBytes = 10 * 1024 * 1024;
const maximumTags = 50;
const tagText = /^[A-Za-z0-9_-]{1,256}$/;

/** Checks the tags of a `SendEmail` or `SendRawEmail`: https://docs.aws.amazon.com/ses/latest/APIReference/API_MessageTag.html. */
export function problemOfTags(form: URLSearchParams): SesProblem | undefined {
  const texts = [...form].filter(([name]) => /^Tags\.member\.\d+\.(Name|Value)$/.test(name));
  const wrong = texts.find(([, text]) => !tagText.test(text));
  if (wrong) {
    const part = wrong[0].endsWith('.Name') ? 'name' : 'value';
    return invalid(
      `Invalid tag ${part} <${wrong[1]}>, only alphanumeric ASCII characters, '_', and '-' are allowed, 256 at most.`,
    );
  }
  const names = texts.filter(([name]) => name.endsWith('.Name')).map(([, text]) => text);
  const values = texts.length - names.length;
  if (values !== names.length) return invalid('A tag has a name and a value.');
  if (new Set(names).size < names.length) return invalid('Duplicate message tag names are not allowed.');
  return names.length > maximumTags ? invalid(`The number of tags exceeds ${maximumTags}.`) : undefined;
}

/** Checks the size of a message, given as the texts that SES encodes. */
export function problemOfSize(...texts: string[]): SesProblem | undefined {
  const bytes = texts.reduce((sum, text) => sum + encodedBytes(text), 0);
  return tooLarge(bytes);
}

/** Checks the size of a message that was encoded by the sender. */
export function problemOfRawSize(base64: string): SesProblem | undefined {
  return tooLarge(Buffer.byteLength(base64, 'base64'));
}

function tooLarge(bytes: number): SesProblem | undefined {
  if (bytes <= maximumMessageBytes) return undefined;
  return invalid(`Message length is more than ${maximumMessageBytes} bytes long: '${bytes}'.`);
}

/** ASCII goes as it is; anything else as quoted-printable, three characters for each byte above ASCII and each `=`. */
function encodedBytes(text: string): number {
  const bytes = Buffer.from(text);
  const isAscii = bytes.length === text.length;
  if (isAscii) return bytes.length;
  const escaped = bytes.reduce((count, byte) => count + (byte > 126 || byte === 61 ? 1 : 0), 0);
  const encoded = bytes.length + 2 * escaped;
  return encoded + Math.floor(encoded / quotedPrintableLine) * softLineBreak;
}

/** RFC 2045: a line has at most 76 characters, `=` at its end included. */
const quotedPrintableLine = 75;
const softLineBreak = '=\r\n'.length;

function invalid(message: string): SesProblem {
  return { type: 'InvalidParameterValue', message };
}
