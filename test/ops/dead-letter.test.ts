import { expect, it } from 'vitest';
import { deadLetter } from '../../bin/ops/dead-letter.ts';

it.each([
  [
    'an invalid event',
    { Body: '{', MessageAttributes: { producer_message_id: { DataType: 'String', StringValue: 'm1' } } },
  ],
  ['an event whose function crashed', { Body: '{"tenant_id":"acme"}', MessageId: 'm1' }],
  ['a delivery', { Body: '{"notification_id":"nt1","producer_message_id":"m1","event":{}}', MessageId: 'm2' }],
])('names the message of the producer: %s', (_, letter) => {
  expect(deadLetter(letter)).toMatchObject({ producer_message_id: 'm1' });
});

it.each([
  ['an alarm event', { tenant_id: 'acme', event_id: 'e1' }],
  ['an alarm event that contains another one', { tenant_id: 'acme', event_id: 'e1', event: { tenant_id: 'globex' } }],
  ['a delivery', { notification_id: 'nt1', event: { tenant_id: 'acme', event_id: 'e1' } }],
])('belongs to the tenant of its message: %s', (_, body) => {
  expect(deadLetter({ Body: JSON.stringify(body) })).toMatchObject({ tenant_id: 'acme', event_id: 'e1' });
});
