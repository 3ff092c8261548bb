import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseChanges, parseDestination, parseNotification } from '../../shared/contracts/notification.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { validDetails } from '../support/notifications.ts';
import { forAll } from '../support/quick-run.ts';
import { rejectionDetails } from '../support/rejection.ts';

/** Text of 1 to `max` code points, except NUL. */
const text = (max: number) =>
  fc.string({ unit: 'binary', minLength: 1, maxLength: max }).map((generated) => generated.replaceAll('\0', '\u0001'));

const key = fc.oneof(
  text(255),
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'then', 'length', '0', '-1'),
);

const stringMap = (max: number) =>
  fc.array(fc.tuple(key, text(max)), { maxLength: 20 }).map((entries) => Object.fromEntries(entries));

const notification = fc.constantFrom(...notificationTypeIds).chain((type) =>
  fc.record(
    {
      label: text(255),
      type: fc.constant(type),
      details: stringMap(4096).map((more) => ({ ...more, ...validDetails[type] })),
      metadata: stringMap(255),
    },
    { requiredKeys: ['label', 'type', 'details'] },
  ),
);

/** A body that is often almost valid. */
const anyBody = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.record(
    {
      label: fc.jsonValue(),
      type: fc.oneof(fc.constantFrom(...notificationTypeIds), fc.jsonValue()),
      details: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
      metadata: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
);

it('any valid notification is parsed without changes, with its keys in order, and is a valid destination for a test', () => {
  forAll()(notification, (body) => {
    const { data } = parseNotification(JSON.parse(JSON.stringify(body)));
    expect(data).toMatchObject({ label: body.label, type: body.type });
    for (const details of [data?.details, parseDestination(body).data?.details])
      expect(JSON.stringify(details)).toBe(JSON.stringify(body.details));
    expect(JSON.stringify(data?.metadata)).toBe(JSON.stringify(body.metadata));
  });
});

it('any JSON value is accepted, or rejected with a message, and never throws', () => {
  forAll(300)(anyBody, (body) => {
    for (const result of [parseNotification(body), parseDestination(body), parseChanges(body)]) {
      expect(result.success || rejectionDetails(result)).toBeTruthy();
    }
  });
});
