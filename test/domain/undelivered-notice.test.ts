import { describe, expect, it } from 'vitest';
import { alarmEvent as schema } from '../../shared/contracts/alarm-event.ts';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import { emailMessage } from '../../shared/domain/email-message.ts';
import { isUndeliveredNotice, undeliveredNotice } from '../../shared/domain/undelivered-notice.ts';
import { alarmEvent } from '../support/events.ts';

const MORNING = Date.UTC(2026, 0, 1, 6);
const notice = (now = MORNING, id = 'ntA') => undeliveredNotice('acme', id, now);

describe('the notice of undelivered alerts', () => {
  it('is a valid alarm event, even for the longest tenant ID', () => {
    expect(schema.safeParse(notice()).success).toBe(true);
    const longest = undeliveredNotice('~'.repeat(128), `nt${'0'.repeat(26)}`, MORNING);
    expect(schema.safeParse(longest).success).toBe(true);
  });

  it('has one delivery per notification and day (UTC)', () => {
    const sortKey = (now: number, id?: string) => deliveryKey(notice(now, id), 'ntTechnicalContactsEmail').sk;
    expect(sortKey(MORNING + 17 * 3_600_000)).toBe(sortKey(MORNING));
    expect(sortKey(MORNING + 18 * 3_600_000)).not.toBe(sortKey(MORNING));
    expect(sortKey(MORNING, 'ntB')).not.toBe(sortKey(MORNING));
  });

  it('has the same content all day, so a second notice is a duplicate and not a conflict', () => {
    expect(notice(MORNING + 17 * 3_600_000)).toEqual(notice());
  });

  it('contains the notification ID and what to do', () => {
    const { text } = emailMessage(notice());
    for (const part of ['ntA', 'Test the notification']) expect(text).toContain(part);
  });

  it('is distinguished from other alerts', () => {
    expect(isUndeliveredNotice(notice())).toBe(true);
    expect(isUndeliveredNotice(alarmEvent())).toBe(false);
    expect(isUndeliveredNotice(alarmEvent({ alarm: { id: 'undelivered' } }))).toBe(false);
  });
});
