import { createHash } from 'node:crypto';

/** One message attribute, as SQS takes and gives it: `String` and `Number` types hold text, `Binary` types bytes. */
export interface MessageAttribute {
  dataType: string;
  value: string | Buffer;
}

/** What a sender hands to a queue. */
export interface NewMessage {
  body: string;
  attributes: ReadonlyMap<string, MessageAttribute>;
  /** On a standard queue: the party among which receives are shared out fairly. */
  groupId?: string | undefined;
  /** The one system attribute that a sender may set, `AWSTraceHeader`. */
  traceHeader?: string | undefined;
  /** Who sent it: the principal of the call. */
  senderId: string;
}

/** The most that a message, and a batch in total, may weigh, attributes included: 1 MiB. */
export const maximumMessageBytes = 1_048_576;

const outsideXml = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** Whether SQS takes this text: only characters that XML 1.0 knows. */
export function isValidContent(text: string): boolean {
  return !outsideXml.test(text);
}

/** The size of a message as SQS counts it: body plus the name, type and value of each attribute, in UTF-8 bytes. */
export function messageBytes(message: Pick<NewMessage, 'body' | 'attributes'>): number {
  let total = Buffer.byteLength(message.body);
  for (const [name, { dataType, value }] of message.attributes) {
    total += Buffer.byteLength(name) + Buffer.byteLength(dataType) + Buffer.byteLength(value);
  }
  return total;
}

/** `MD5OfMessageBody`. */
export function bodyDigest(body: string): string {
  return createHash('md5').update(body).digest('hex');
}

/**
 * `MD5OfMessageAttributes`, by the algorithm of the SQS developer guide: per attribute in name order, each of name, type
 * and value led by its length in four bytes, the value also by a transport byte (1 text, 2 binary).
 */
export function attributesDigest(attributes: ReadonlyMap<string, MessageAttribute>): string | undefined {
  if (attributes.size === 0) return undefined;
  const hash = createHash('md5');
  const add = (part: string | Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(part));
    hash.update(length).update(part);
  };
  const inNameOrder = [...attributes].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, { dataType, value }] of inNameOrder) {
    add(name);
    add(dataType);
    hash.update(Buffer.of(typeof value === 'string' ? 1 : 2));
    add(value);
  }
  return hash.digest('hex');
}
