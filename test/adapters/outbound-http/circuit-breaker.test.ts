import { describe, expect, it, vi } from 'vitest';
import { withCircuitBreaker } from '../../../shared/adapters/outbound-http/circuit-breaker.ts';
import { type HttpPost, RequestTimeoutError } from '../../../shared/adapters/outbound-http/http-client.ts';

const answered = { status: 200, retryAfter: undefined, body: '' };
const request = (url = 'https://hangs.example.com/a'): HttpPost => ({ url: new URL(url), headers: {}, body: '{}' });
const missed = { name: 'RequestTimeoutError' };
const paused = { name: 'CircuitOpenError' };

const setUp = () => {
  let now = 1_000_000;
  const dial = vi.fn(async (_request: HttpPost) => answered);
  const { post } = withCircuitBreaker({ post: dial }, () => now);
  return {
    dial,
    post,
    hang: () => dial.mockRejectedValueOnce(new RequestTimeoutError()),
    later: (seconds: number) => {
      now += seconds * 1_000;
    },
  };
};

/** An origin that has just missed the deadline twice. */
const hanging = async () => {
  const setup = setUp();
  for (let count = 0; count < 2; count++) {
    setup.hang();
    await expect(setup.post(request())).rejects.toMatchObject(missed);
  }
  setup.dial.mockClear();
  return setup;
};

describe('an origin that hangs', () => {
  it('is not dialled any more after two misses', async () => {
    const { post, dial } = await hanging();
    await expect(post(request('https://hangs.example.com/b'))).rejects.toMatchObject({ ...paused, wait: 30_000 });
    expect(dial).not.toHaveBeenCalled();
  });

  it('is dialled again half a minute after the last miss', async () => {
    const { post, dial, later } = await hanging();
    later(29);
    await expect(post(request())).rejects.toMatchObject({ ...paused, wait: 1_000 });
    later(1);
    expect(await post(request())).toEqual(answered);
    expect(dial).toHaveBeenCalledTimes(1);
  });

  it('holds up no other: another host, port or scheme is dialled', async () => {
    const { post } = await hanging();
    for (const url of ['https://a.example.com/', 'https://hangs.example.com:8443/', 'http://hangs.example.com/']) {
      expect(await post(request(url))).toEqual(answered);
    }
  });
});

describe('an origin that misses now and then', () => {
  it('is dialled on where it answers in between', async () => {
    const { post, hang } = setUp();
    hang();
    await expect(post(request())).rejects.toMatchObject(missed);
    expect(await post(request())).toEqual(answered);
    hang();
    await expect(post(request())).rejects.toMatchObject(missed);
    expect(await post(request())).toEqual(answered);
  });

  it('is dialled on where its misses are more than half a minute apart', async () => {
    const { post, hang, later } = setUp();
    for (let count = 0; count < 3; count++) {
      hang();
      await expect(post(request())).rejects.toMatchObject(missed);
      later(31);
    }
  });

  it('is dialled on where it fails at once', async () => {
    const { post, dial } = setUp();
    dial.mockRejectedValue(new Error('refused'));
    for (let count = 0; count < 5; count++) await expect(post(request())).rejects.toThrow('refused');
    expect(dial).toHaveBeenCalledTimes(5);
  });
});
