import { afterEach, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { createChangedResponse, createNotificationResponse } from '../../shared/api/notification-change.ts';
import type { NotificationRecord } from '../../shared/contracts/responses/notifications.ts';

const record: NotificationRecord = {
  id: 'nt1',
  label: 'On call',
  type: 'email',
  details: { address: 'a@example.com' },
  metadata: {},
};

const key = { tenant: 'acme', id: 'nt1' };

afterEach(() => {
  vi.restoreAllMocks();
});

it('a change whose notification cannot be read afterwards succeeds without it, and does not say that it returns it', async () => {
  const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  const changedResponse = createChangedResponse({ get: () => Promise.reject(new Error('no response')) });
  for (const status of [201, 204] as const) {
    expect(await changedResponse(status, key, 'https://a.example/nt1', 'representation')).toEqual({
      statusCode: status,
      headers: { location: 'https://a.example/nt1' },
    });
  }
  expect(warn).toHaveBeenCalledTimes(2);
});

it('a change reads the notification only to return it', async () => {
  const get = vi.fn();
  const changedResponse = createChangedResponse({ get });
  await changedResponse(204, key, 'https://a.example/nt1', undefined);
  await changedResponse(201, key, 'https://a.example/nt1', 'minimal');
  expect(get).not.toHaveBeenCalled();
});

it('a notification is shown with the stop of its address', async () => {
  const respond = createNotificationResponse({ find: async () => ({ reason: 'complained', sinceMs: 5 }) });
  const { body } = await respond('acme', record);
  expect(JSON.parse(body ?? '')).toEqual({ ...record, stopped: { reason: 'complained', since: 5 } });
});

it('a notification is shown without the stop of its address if that cannot be read, which is logged', async () => {
  const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  const respond = createNotificationResponse({ find: () => Promise.reject(new Error('no response')) });
  const { statusCode, body } = await respond('acme', record);
  expect([statusCode, JSON.parse(body ?? '')]).toEqual([200, record]);
  expect(warn).toHaveBeenCalledOnce();
});
