import { describe, expect, it, vi } from 'vitest';
import { withCircuitBreaker } from '../../../shared/adapters/outbound-http/circuit-breaker.ts';
import { type HttpPost, RequestTimeoutError } from '../../../shared/adapters/outbound-http/http-client.ts';
import { testClock } from '../../support/test-clock.ts';

const ORIGIN = 'https://hooks.example.com';
const response = { status: 200, retryAfter: undefined, body: '' };
const request = (circuitTenant: string | undefined, url = `${ORIGIN}/a`): HttpPost => ({
  url: new URL(url),
  headers: {},
  body: '{}',
  circuitTenant,
});
const timedOut = { name: 'RequestTimeoutError' };
const circuitOpen = { name: 'CircuitOpenError' };

const setUp = () => {
  const { clock, advance } = testClock(1_000_000);
  const send = vi.fn(async (_request: HttpPost) => response);
  const { post } = withCircuitBreaker({ post: send }, clock);
  /** Sends a request of each tenant at the same time, all of which time out. */
  const timeOut = async (...tenants: (string | undefined)[]) => {
    for (const _ of tenants) send.mockRejectedValueOnce(new RequestTimeoutError());
    for (const result of await Promise.allSettled(tenants.map((tenant) => post(request(tenant))))) {
      expect(result).toMatchObject({ status: 'rejected', reason: timedOut });
    }
  };
  return {
    send,
    timeOut,
    post: (tenant: string | undefined, url?: string) => post(request(tenant, url)),
    /** Sends a request whose response arrives when the returned function is called. */
    postSlowly: (tenant: string) => {
      const { promise, resolve } = Promise.withResolvers<typeof response>();
      send.mockReturnValueOnce(promise);
      const posted = post(request(tenant));
      return async () => {
        resolve(response);
        expect(await posted).toEqual(response);
      };
    },
    advance,
  };
};

describe('the circuit of a tenant and an origin', () => {
  it('opens after two timeouts of the tenant, for all paths of the origin', async () => {
    const { post, send, timeOut } = setUp();
    await timeOut('a', 'a');
    send.mockClear();
    await expect(post('a', `${ORIGIN}/b`)).rejects.toMatchObject({ ...circuitOpen, retryAfterMs: 30_000 });
    expect(send).not.toHaveBeenCalled();
  });

  it('does not affect another host, port or scheme', async () => {
    const { post, timeOut } = setUp();
    await timeOut('a', 'a');
    for (const url of ['https://a.example.com/', `${ORIGIN}:8443/`, 'http://hooks.example.com/']) {
      expect(await post('a', url)).toEqual(response);
    }
  });

  it('closes 30 s after two simultaneous timeouts', async () => {
    const { post, timeOut, advance } = setUp();
    await timeOut('a', 'a');
    advance(29);
    await expect(post('a')).rejects.toMatchObject({ ...circuitOpen, retryAfterMs: 1_000 });
    advance(1);
    expect(await post('a')).toEqual(response);
  });

  it('stays open when the origin responds to another tenant', async () => {
    const { post, timeOut } = setUp();
    await timeOut('a', 'a');
    await post('b');
    await expect(post('a')).rejects.toMatchObject(circuitOpen);
  });

  it('closes with a response to a request of the tenant that was in flight', async () => {
    const { post, timeOut, postSlowly } = setUp();
    const respond = postSlowly('a');
    await timeOut('a', 'a');
    await respond();
    expect(await post('a')).toEqual(response);
  });

  it('stays closed if a response arrives between two timeouts', async () => {
    const { post, timeOut } = setUp();
    await timeOut('a');
    await post('a');
    await timeOut('a');
    expect(await post('a')).toEqual(response);
  });

  it('stays closed if requests fail without a timeout', async () => {
    const { post, send } = setUp();
    send.mockRejectedValue(new Error('refused'));
    for (let count = 0; count < 5; count++) await expect(post('a')).rejects.toThrow('refused');
    expect(send).toHaveBeenCalledTimes(5);
  });

  it('stays open, whatever the number of other origins that time out for other tenants', async () => {
    const { post, send, timeOut } = setUp();
    await timeOut('a', 'a');
    for (let count = 0; count < 1_100; count++) {
      send.mockRejectedValueOnce(new RequestTimeoutError());
      await expect(post('b', `https://h${count}.example.com/`)).rejects.toMatchObject(timedOut);
    }
    await expect(post('a')).rejects.toMatchObject(circuitOpen);
  });
});

describe('a test', () => {
  it('is sent although circuits are open, and its response closes none', async () => {
    const { post, timeOut } = setUp();
    await timeOut('a', 'a');
    expect(await post(undefined)).toEqual(response);
    await expect(post('a')).rejects.toMatchObject(circuitOpen);
  });

  it('opens no circuit with its timeouts', async () => {
    const { post, timeOut } = setUp();
    await timeOut(undefined, undefined, undefined);
    expect(await post('a')).toEqual(response);
  });
});
