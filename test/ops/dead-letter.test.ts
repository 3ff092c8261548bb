import { expect, it } from 'vitest';
import { deadLetter } from '../../bin/ops/dead-letter.ts';

it.each([
  ['an alarm event', { tenant_id: 'acme', event_id: 'e1' }],
  [
    'an alarm event with another one in an unknown field',
    { tenant_id: 'acme', event_id: 'e1', event: { tenant_id: 'globex' } },
  ],
  ['a delivery', { notification_id: 'nt1', event: { tenant_id: 'acme', event_id: 'e1' } }],
])('belongs to the tenant of its message: %s', (_, body) => {
  expect(deadLetter({ Body: JSON.stringify(body) })).toMatchObject({ tenant: 'acme', event: 'e1' });
});
