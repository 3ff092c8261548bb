import { describe, expect, it, vi } from 'vitest';
import { withCircuitBreaker } from '../../../shared/adapters/outbound-http/circuit-breaker.ts';
import { type HttpPost, RequestTimeoutError } from '../../../shared/adapters/outbound-http/http-client.ts';

const response = { status: 200, retryAfter: undefined, body: '' };
const request = (url = 'https://hangs.example.com/a'): HttpPost => ({ url: new URL(url), headers: {}, body: '{}' });
const timedOut = { name: 'RequestTimeoutError' };
const circuitOpen = { name: 'CircuitOpenError' };

const setUp = () => {
  let now = 1_000_000;
  const send = vi.fn(async (_request: HttpPost) => response);
  const { post } = withCircuitBreaker({ post: send }, () => now);
  return {
    send,
    post,
    timeOutOnce: () => send.mockRejectedValueOnce(new RequestTimeoutError()),
    advance: (seconds: number) => {
      now += seconds * 1_000;
    },
  };
};

/** An origin whose last two requests timed out. */
const withOpenCircuit = async () => {
  const setup = setUp();
  for (let count = 0; count < 2; count++) {
    setup.timeOutOnce();
    await expect(setup.post(request())).rejects.toMatchObject(timedOut);
  }
  setup.send.mockClear();
  return setup;
};

describe('the circuit breaker', () => {
  it('opens after two timeouts of an origin', async () => {
    const { post, send } = await withOpenCircuit();
    await expect(post(request('https://hangs.example.com/b'))).rejects.toMatchObject({
      ...circuitOpen,
      retryAfterMs: 30_000,
    });
    expect(send).not.toHaveBeenCalled();
  });

  it('closes 30 s after two simultaneous timeouts', async () => {
    const { post, send, advance } = await withOpenCircuit();
    advance(29);
    await expect(post(request())).rejects.toMatchObject({ ...circuitOpen, retryAfterMs: 1_000 });
    advance(1);
    expect(await post(request())).toEqual(response);
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('requests a retry when it closes, 30 s after the first of two timeouts', async () => {
    const { post, timeOutOnce, advance } = setUp();
    timeOutOnce();
    await expect(post(request())).rejects.toMatchObject(timedOut);
    advance(15);
    timeOutOnce();
    await expect(post(request())).rejects.toMatchObject(timedOut);
    advance(1);
    await expect(post(request())).rejects.toMatchObject({ ...circuitOpen, retryAfterMs: 14_000 });
    advance(14);
    expect(await post(request())).toEqual(response);
  });

  it('does not affect another host, port or scheme', async () => {
    const { post } = await withOpenCircuit();
    for (const url of ['https://a.example.com/', 'https://hangs.example.com:8443/', 'http://hangs.example.com/']) {
      expect(await post(request(url))).toEqual(response);
    }
  });

  it('stays closed if a response arrives between two timeouts', async () => {
    const { post, timeOutOnce } = setUp();
    timeOutOnce();
    await expect(post(request())).rejects.toMatchObject(timedOut);
    expect(await post(request())).toEqual(response);
    timeOutOnce();
    await expect(post(request())).rejects.toMatchObject(timedOut);
    expect(await post(request())).toEqual(response);
  });

  it('stays closed if timeouts are more than 30 s apart', async () => {
    const { post, timeOutOnce, advance } = setUp();
    for (let count = 0; count < 3; count++) {
      timeOutOnce();
      await expect(post(request())).rejects.toMatchObject(timedOut);
      advance(31);
    }
  });

  it('stays closed if requests fail without a timeout', async () => {
    const { post, send } = setUp();
    send.mockRejectedValue(new Error('refused'));
    for (let count = 0; count < 5; count++) await expect(post(request())).rejects.toThrow('refused');
    expect(send).toHaveBeenCalledTimes(5);
  });
});
