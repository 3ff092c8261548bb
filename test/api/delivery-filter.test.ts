import { expect, it } from 'vitest';
import { parseDeliverySelection } from '../../shared/api/time-parameters.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';

const parse = (text: string) => parseDeliverySelection(new URLSearchParams(text));

it('a filter of deliveries is optional, and takes several statuses, IDs and times', () => {
  expect(parse('')).toEqual({ filter: { statuses: [] } });
  const all = deliveryStatuses.map((status) => `status=${status}`).join('&');
  expect(parse(`${all}&status=failed`)).toEqual({ filter: { statuses: deliveryStatuses } });
  expect(parse('alarm_id=al%20Disk&entity_id=en&from=0&to=1795295395726')).toEqual({
    filter: { statuses: [], alarmId: 'al Disk', entityId: 'en', fromMs: 0, toMs: 1_795_295_395_726 },
  });
  expect(parse('event_id=a%23b')).toEqual({ eventId: 'a#b' });
});

const STATUS_RULE = 'status: must be one of pending, delivered, failed, superseded, cancelled, bounced, summarized';

it.each([
  ['status=dead', STATUS_RULE],
  ['status=', STATUS_RULE],
  ['status=failed&status=__proto__', STATUS_RULE],
  ['alarm_id=', 'alarm_id: must not be empty'],
  ['entity_id=', 'entity_id: must not be empty'],
  ['event_id=', 'event_id: must not be empty'],
  [`event_id=${'x'.repeat(513)}`, 'event_id: must be at most 512 characters'],
  ['event_id=a&status=failed&from=0', 'event_id: must not be combined with from, status'],
  [
    'from=1795295395',
    'from: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
  ],
])('a filter of deliveries is rejected with its field and rule: %s', (text, details) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ type: 'badRequest', details }));
});
