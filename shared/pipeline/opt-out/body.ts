/** What the buttons of the page send. That which stops emails is what mail services send (RFC 8058, section 3.1). */
export const buttonFields = {
  stop: { name: 'List-Unsubscribe', value: 'One-Click' },
  resume: { name: 'Resume', value: 'Confirm' },
} as const;

/** A body with one field, as a form or multipart, is shorter. */
const MAX_BODY_LENGTH = 4_096;

/** Returns the fields of a body as `multipart/form-data` (RFC 7578), whose first line is a boundary. */
const multipartFields = (text: string): [name: string, value: string][] => {
  const [boundary = ''] = text.split(/\r?\n/, 1);
  return text.split(boundary).flatMap((part): [string, string][] => {
    const lines = part.split(/\r?\n/);
    const end = lines.indexOf('', 1);
    const disposition = lines.slice(0, end).find((line) => /^content-disposition:/i.test(line)) ?? '';
    const [, name] = /; ?name="?([\w-]{1,64})/i.exec(disposition) ?? [];
    return name === undefined || end < 0 ? [] : [[name, lines.slice(end + 1, -1).join('\n')]];
  });
};

/** Returns what the body of a request changes, or undefined. A body with both fields stops the emails. */
export const requestedChange = (body: string, isBase64Encoded: boolean): 'stop' | 'resume' | undefined => {
  if (body.length > MAX_BODY_LENGTH) return undefined;
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  const fields = text.startsWith('--') ? multipartFields(text) : [...new URLSearchParams(text)];
  return (['stop', 'resume'] as const).find((change) => {
    const { name, value } = buttonFields[change];
    return fields.some((field) => field[0] === name && field[1] === value);
  });
};
