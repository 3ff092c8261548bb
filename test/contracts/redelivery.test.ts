import { describe, expect, it } from 'vitest';
import { parseRedelivery } from '../../shared/contracts/redelivery.ts';
import { rejectionDetails } from '../support/rejection.ts';

const OBJECT_RULE = 'body: must be a JSON object';
const CHOICE_RULE = 'body: must have exactly one of event_id, since and status, or event_id and status';
const MARKER_RULE = 'marker: must be the next_marker of a response';
const SINCE_RULE =
  'since: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch';
const marker = (digit: string) => `1700000000000-1700000000000-${digit.repeat(64)}`;

describe('a redelivery request', () => {
  it.each<[unknown, string]>([
    [[], OBJECT_RULE],
    [null, OBJECT_RULE],
    [{}, CHOICE_RULE],
    [{ event_id: null, since: null }, CHOICE_RULE],
    [{ event_id: 'a', since: 0 }, CHOICE_RULE],
    [{ status: 'pending', since: 0 }, CHOICE_RULE],
    [{ event_id: 'a', status: 'pending', since: 0 }, CHOICE_RULE],
    [{ status: 'failed' }, 'status: must be pending'],
    [{ event_id: '' }, 'event_id: must not be empty'],
    [{ event_id: 7 }, 'event_id: must be a string'],
    [{ event_id: 'x'.repeat(513) }, 'event_id: must be at most 512 characters'],
    ...['1', -1, 1.5, 1_795_295_395, 999_999_999_999, 10_000_000_000_000].map((since): [unknown, string] => [
      { since },
      SINCE_RULE,
    ]),
    ...['x', '', 7, marker('g')].map((invalid): [unknown, string] => [{ since: 0, marker: invalid }, MARKER_RULE]),
  ])('is rejected with its field and rule: %j', (body, details) => {
    expect(rejectionDetails(parseRedelivery(body))).toBe(details);
  });

  it.each([
    { event_id: 'x'.repeat(512) },
    { since: 0, color: 'red', event_id: null },
    { since: 0, marker: '1700000000000' },
    { status: 'pending', marker: marker('a') },
    { status: 'pending', event_id: 'a' },
    { since: 1_000_000_000_000 },
    { since: 9_999_999_999_999, marker: marker('a') },
  ])('is accepted: %j', (body) => {
    expect(parseRedelivery(body).success).toBe(true);
  });
});
