import { describe, expect, it } from 'vitest';
import { alarmEvent as schema } from '../../shared/contracts/alarm-event.ts';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import { emailMessage } from '../../shared/domain/email-message.ts';
import { isUndeliveredNotice, undeliveredNotice } from '../../shared/domain/undelivered-notice.ts';
import { alarmEvent } from '../support/events.ts';

const MORNING = Date.UTC(2026, 0, 1, 6);
const notice = (now = MORNING, id = 'ntA') => undeliveredNotice('acme', id, now);

describe('what the owner hears when alerts were given up', () => {
  it('is an alarm event of the tenant, for every tenant that there can be', () => {
    expect(schema.safeParse(notice()).success).toBe(true);
    const longest = undeliveredNotice('~'.repeat(128), `nt${'0'.repeat(26)}`, MORNING);
    expect(schema.safeParse(longest).success).toBe(true);
  });

  it('is heard once a day for each notification', () => {
    const place = (now: number, id?: string) => deliveryKey(notice(now, id), 'ntTechnicalContactsEmail').sk;
    expect(place(MORNING + 17 * 3_600_000)).toBe(place(MORNING));
    expect(place(MORNING + 18 * 3_600_000)).not.toBe(place(MORNING));
    expect(place(MORNING, 'ntB')).not.toBe(place(MORNING));
  });

  it('says the same all day, so that no second one is taken for another event', () => {
    expect(notice(MORNING + 17 * 3_600_000)).toEqual(notice());
  });

  it('names the notification, and what to do', () => {
    const { text } = emailMessage(notice());
    for (const part of ['ntA', 'Test the notification']) expect(text).toContain(part);
  });

  it('is told from any other alert', () => {
    expect(isUndeliveredNotice(notice())).toBe(true);
    expect(isUndeliveredNotice(alarmEvent())).toBe(false);
    expect(isUndeliveredNotice(alarmEvent({ alarm: { id: 'undelivered' } }))).toBe(false);
  });
});
