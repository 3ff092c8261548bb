import { describe, expect, it } from 'vitest';
import type { InboxMessage } from '../../bin/local/inbox/inbox.ts';
import { type Delivery, delivery } from '../../shared/contracts/messages.ts';
import { type Notice, noticeBody } from '../../shared/domain/delivery-message.ts';
import { claimedRecord, type DeliveryRecord, withAttempt, withStatus } from '../../shared/domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { failingNotice, undeliveredNotice } from '../../shared/pipeline/notices/notification-notice.ts';
import { unreachedNotice, unreachedSummary } from '../../shared/pipeline/notices/unreached-notice.ts';
import { emailMessage } from '../../shared/pipeline/transports/email-message.ts';
import { operatorMessage } from '../../shared/pipeline/transports/operator-message.ts';
import { deliveryMessage } from '../support/events.ts';
import { noticeIn } from './inbox.ts';
import { countNotices } from './notices.ts';
import type { Kill } from './outcomes.ts';
import { seededRandom } from './random.ts';
import { type ChaosTarget, numberedEvent } from './targets.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const TENANT = 'tenant-1';
const CONTACT = 'contact-0@example.com';
const API_URL = 'https://api.example.com';

const unused = () => Promise.reject(new Error('There is no API.'));
const target: ChaosTarget = {
  id: 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV',
  tenant: TENANT,
  type: 'technicalContactsEmail',
  key: CONTACT,
  owner: { tenant: TENANT, token: '', get: unused, post: unused, put: unused, delete: unused, create: unused },
};
const event = numberedEvent(TENANT, 7, 'CRITICAL', [target.id], seededRandom(1));
const planned = [{ event, target }];

const parsed = (body: string): Delivery => delivery.parse(JSON.parse(body));

/** Returns the record of a delivery that arrived in one attempt of 200 ms. */
const deliveredRecord = (body: string, atMs: number): DeliveryRecord => {
  const claimed = claimedRecord(parsed(body), 'claim', atMs);
  return withStatus(withAttempt(claimed, { result: 'delivered', explanation: '' }, atMs, 200), 'delivered', atMs + 200);
};

const failed = {
  notificationId: target.id,
  notification: { label: 'n-0-webhook', type: 'webhook' },
  record: deliveredRecord(deliveryMessage(target.id, event), NOW_MS),
} as const;

const notices: Record<string, Notice> = {
  failing: failingNotice(TENANT, API_URL, failed, event),
  undelivered: undeliveredNotice(TENANT, API_URL, failed, event),
  unreached: unreachedNotice(event, [failed], NOW_MS),
  summary: unreachedSummary(event, NOW_MS),
};

const email = (sent: Notice | undefined, atMs: number): InboxMessage => ({
  id: 1,
  kind: 'email',
  from: 'notifications@example.com',
  to: [CONTACT],
  ...(sent ? emailMessage(sent.event, sent.content) : emailMessage(event)),
  sent_at: new Date(atMs).toISOString(),
});

const toOperators = (sent: Notice | undefined, atMs: number): InboxMessage => ({
  id: 1,
  kind: 'managed',
  topic: 'topic',
  ...(sent ? operatorMessage(sent.event, sent.content) : operatorMessage(event)),
  sent_at: new Date(atMs).toISOString(),
});

const count = (records: readonly DeliveryRecord[], inbox: readonly InboxMessage[], kills: readonly Kill[] = []) =>
  countNotices(inbox, planned, [target], {
    records: new Map(records.map((record) => [`${record.pk} ${record.sk}`, record])),
    isDeadLettered: () => false,
    deleted: new Set(),
    unrecorded: [],
    kills,
    receipts: [],
    toRealTimeMs: (stackTimeMs) => stackTimeMs,
  }).filter(({ planned: total }) => total > 0);

describe('the notices of a run', () => {
  it('are no alerts, although they contain the headline of one', () => {
    for (const notice of Object.values(notices)) {
      for (const message of [email(notice, NOW_MS), toOperators(notice, NOW_MS)])
        expect(noticeIn(message)).toBeDefined();
    }
    for (const message of [email(undefined, NOW_MS), toOperators(undefined, NOW_MS)])
      expect(noticeIn(message)).toBeUndefined();
  });

  it.each(Object.entries(notices))('are counted by kind and recipient: %s', (_name, notice) => {
    const records = [DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID].map((id) =>
      deliveredRecord(noticeBody(id, notice, NOW_MS), NOW_MS),
    );
    const inbox = [email(notice, NOW_MS + 100), toOperators(notice, NOW_MS + 100)];
    const name = `${notice.content.kind} notices`;
    expect(count(records, inbox)).toMatchObject([{ name, planned: 2, delivered: 2, lost: 0, duplicated: 0 }]);
  });

  it.each(Object.entries(notices))('are duplicated if one arrives twice without a kill: %s', (_name, notice) => {
    const records = [deliveredRecord(noticeBody(DEFAULT_NOTIFICATION_ID, notice, NOW_MS), NOW_MS)];
    const inbox = [email(notice, NOW_MS + 100), email(notice, NOW_MS + 30_000)];
    expect(count(records, inbox)).toMatchObject([{ duplicated: 1, evidence: [expect.stringContaining('duplicated')] }]);
  });

  it.each(Object.entries(notices))('are duplicated by the kill of a worker that had sent one: %s', (_name, notice) => {
    const records = [deliveredRecord(noticeBody(DEFAULT_NOTIFICATION_ID, notice, NOW_MS), NOW_MS + 30_000)];
    const inbox = [email(notice, NOW_MS + 100), email(notice, NOW_MS + 30_100)];
    const kill = { name: 'Delivery-send-technicalContactsEmail', atMs: NOW_MS + 150 };
    expect(count(records, inbox, [kill])).toMatchObject([{ duplicated: 0, duplicatedByKill: 1 }]);
  });

  it('of two hours about the same alarm are not duplicates', () => {
    const later = unreachedNotice(event, [failed], NOW_MS + 3_600_000);
    const records = [
      deliveredRecord(noticeBody(DEFAULT_NOTIFICATION_ID, unreachedNotice(event, [failed], NOW_MS), NOW_MS), NOW_MS),
      deliveredRecord(noticeBody(DEFAULT_NOTIFICATION_ID, later, NOW_MS), NOW_MS + 3_600_000),
    ];
    const inbox = [email(later, NOW_MS + 100), email(later, NOW_MS + 3_600_100)];
    expect(count(records, inbox)).toMatchObject([{ planned: 2, delivered: 2, duplicated: 0 }]);
  });

  it('have a record each', () => {
    const { failing } = notices;
    expect(() => count([], [email(failing, NOW_MS)])).toThrow('has no record');
  });
});
