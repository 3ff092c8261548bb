import { afterEach, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { createChangedResponse } from '../../shared/api/changed-notification.ts';

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
