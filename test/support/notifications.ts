import { createHash } from 'node:crypto';
import { exampleDetails } from '../../bin/openapi/examples.ts';
import type { NotificationAttributes } from '../../shared/contracts/notification.ts';
import { fieldsOf } from '../../shared/contracts/notification-fields.ts';
import { byType, type NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { MAX_HEADER_LENGTH } from '../../shared/contracts/webhook-request-rules.ts';

const requiredExamples = (type: NotificationTypeId): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fieldsOf(type)).flatMap(([name, { optional }]) =>
      optional ? [] : [[name, exampleDetails[type][name] ?? '']],
    ),
  );

/** A valid destination of each type, with the required fields only. */
export const validDetails = byType(requiredExamples);

/**
 * Returns a valid destination of each type. A field with a URL leads to the path of this URL that is the name of the
 * type, followed by `suffix`.
 */
export const destinationsAt = (
  url: string,
  suffix = '',
): Readonly<Record<NotificationTypeId, Record<string, string>>> =>
  byType((type) => {
    const urls = Object.entries(fieldsOf(type)).filter(([, { rule }]) => rule.includes('URL'));
    return { ...validDetails[type], ...Object.fromEntries(urls.map(([name]) => [name, `${url}/${type}${suffix}`])) };
  });

/** Returns the attributes of a webhook notification, with changes. */
export const webhookNotification = (changes: Partial<NotificationAttributes> = {}): NotificationAttributes => ({
  label: 'Night shift',
  type: 'webhook',
  details: validDetails.webhook,
  ...changes,
});

/** Returns this many entries, `key0`, `key1` and so on, with the same value. */
export const entries = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, value]));

/** Returns this many entries of 4 KB that start and end with `letter`. Compressed, each has about 3 KB. */
export const incompressibleEntries = (count: number, letter: string): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const random = createHash('shake256', { outputLength: 3_069 }).update(`${letter}${index}`).digest('base64');
      return [`key${index}`, `${letter}${random}${letter}`];
    }),
  );

/** Returns random headers of a `webhook_request` whose values have 16 KB together, almost the maximum. */
export const largestHeaders = (): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: 15 }, (_, index) => [
      `x-secret-${index}`,
      createHash('shake256', { outputLength: MAX_HEADER_LENGTH * 0.75 })
        .update(String(index))
        .digest('base64'),
    ]),
  );

/**
 * Returns a notification with the most details of the longest values, of random characters of four bytes: 4.2 MB, and
 * 3.1 MB compressed.
 */
export const largestNotification = (): NotificationAttributes => {
  const randomValue = (index: number): string => {
    const random = createHash('shake256', { outputLength: 4 * 4_096 })
      .update(String(index))
      .digest();
    const characters = new Uint32Array(new Uint8Array(random).buffer);
    return Array.from(characters, (code) => String.fromCodePoint(0x10000 + (code >>> 12))).join('');
  };
  const others = Array.from({ length: 255 }, (_, index) => [`key${index}`, randomValue(index)]);
  return webhookNotification({ details: { ...validDetails.webhook, ...Object.fromEntries(others) } });
};
