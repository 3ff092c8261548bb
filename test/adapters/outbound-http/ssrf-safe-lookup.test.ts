import { describe, expect, it, vi } from 'vitest';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import type { ResolvedAddress } from '../../../shared/adapters/outbound-http/ssrf-safe-lookup.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { respondWith, startHttp } from '../../support/servers.ts';

const message = { headers: {}, body: '{}', timeoutMs: 5_000 };
const loopback: ResolvedAddress = { address: '127.0.0.1', family: 4 };

const blocked = (literal: boolean) => ({ name: 'BlockedAddressError', literal });

const publicOnly = (resolve = vi.fn(async () => [loopback])) => ({
  resolve,
  ...createHttpClient({ isAllowed: egressRule([]), resolve }),
});

/** Notations of 127.0.0.1 in a URL, which `URL` makes equal; `*` is replaced by the port. */
const loopbackNotations = [
  'http://127.0.0.1:*/',
  'http://0x7f.1:*/',
  'http://017700000001:*/',
  'http://127.0.0.1.:*/',
  'http://%31%32%37。０.0.①:*/',
  'http://example.com@127.0.0.1:*?@example.com/',
  'http:\\\\127.0.0.1:*\\',
  'http://[::ffff:127.0.0.1]:*/',
  'http://0:*/',
  'https://127.0.0.1:*/',
];

describe('a URL with an IP address', () => {
  it.each(loopbackNotations)('is blocked without a connection if it is a loopback address: %s', async (notation) => {
    const server = await startHttp(respondWith(200));
    const { post, resolve } = publicOnly();
    const url = new URL(notation.replace('*', String(server.port)));
    await expect(post({ url, ...message })).rejects.toMatchObject(blocked(true));
    expect(server.connectedAddresses).toEqual([]);
    expect(resolve).not.toHaveBeenCalled();
  });

  it('is allowed in any notation if the egress rule allows the address', async () => {
    const { port, connectedAddresses } = await startHttp(respondWith(200));
    const { post } = createHttpClient({ isAllowed: egressRule(['127.0.0.0/8']) });
    for (const host of ['127.0.0.1', '127.1', '0x7f.1']) {
      expect(await post({ url: new URL(`http://${host}:${port}/`), ...message })).toMatchObject({ status: 200 });
    }
    expect(connectedAddresses.every((address) => address === '127.0.0.1')).toBe(true);
  });
});

describe('a URL with a host name', () => {
  const blockedResults: [name: string, addresses: ResolvedAddress[]][] = [
    ['loopback', [loopback]],
    ['a private address', [{ address: '10.0.0.5', family: 4 }]],
    ['the instance metadata service', [{ address: '169.254.169.254', family: 4 }]],
    ['a unique local address', [{ address: 'fd00:ec2::254', family: 6 }]],
    ['an IPv4-mapped IPv6 address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['a public address before a private one', [{ address: '93.184.216.34', family: 4 }, loopback]],
    ['a private address before a public one', [loopback, { address: '93.184.216.34', family: 4 }]],
    [
      'a public IPv4 and a private IPv6 address',
      [
        { address: '93.184.216.34', family: 4 },
        { address: '::1', family: 6 },
      ],
    ],
    ['no address', []],
  ];

  it.each(blockedResults)('is blocked without a connection if it resolves to %s', async (_, addresses) => {
    const server = await startHttp(respondWith(200));
    const { post, resolve } = publicOnly(vi.fn(async () => addresses));
    await expect(post({ url: server.url('hooks.example.com'), ...message })).rejects.toMatchObject(blocked(false));
    expect(server.connectedAddresses).toEqual([]);
    expect(resolve).toHaveBeenCalledExactlyOnceWith('hooks.example.com');
  });

  it.each(['localhost', 'localhost.', 'LOCALHOST', 'a.localhost'])(
    'is blocked if it names the local host: %s',
    async (host) => {
      const server = await startHttp(respondWith(200));
      const { post } = createHttpClient({ isAllowed: egressRule([]) });
      await expect(post({ url: server.url(host), ...message })).rejects.toThrow();
      expect(server.connectedAddresses).toEqual([]);
    },
  );

  it('connects to the address that was checked, even if the next lookup returns a different address (DNS rebinding)', async () => {
    const lookups = [loopback, { address: '127.0.0.2', family: 4 }];
    const resolve = vi.fn(async () => [lookups.shift() ?? loopback]);
    const { connectedAddresses, url } = await startHttp(respondWith(200));
    const { post } = createHttpClient({ isAllowed: egressRule(['127.0.0.1/32']), resolve });
    expect(await post({ url: url('rebind.example.com'), ...message })).toMatchObject({ status: 200 });
    expect(resolve).toHaveBeenCalledTimes(1);
    expect(connectedAddresses).toEqual(['127.0.0.1']);
  });

  it('is checked for each connection', async () => {
    const lookups = [[loopback], [{ address: '10.0.0.5', family: 4 }]];
    const { url } = await startHttp(respondWith(200, { connection: 'close' }));
    const { post } = createHttpClient({
      isAllowed: egressRule(['127.0.0.1/32']),
      resolve: async () => lookups.shift() ?? [],
    });
    expect(await post({ url: url('rebind.example.com'), ...message })).toMatchObject({ status: 200 });
    await expect(post({ url: url('rebind.example.com'), ...message })).rejects.toMatchObject(blocked(false));
  });

  it('connects to the next address if the first does not respond', async () => {
    const { url } = await startHttp(respondWith(200));
    const { post } = createHttpClient({
      isAllowed: egressRule(['127.0.0.0/8', '::1/128']),
      resolve: async () => [{ address: '::1', family: 6 }, loopback],
    });
    expect(await post({ url: url('two.example.com'), ...message })).toMatchObject({ status: 200 });
  });

  it('rejects with ENOTFOUND if it does not exist', async () => {
    const { post } = publicOnly(
      vi.fn(async () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))),
    );
    const url = new URL('http://unknown.example.com/');
    await expect(post({ url, ...message })).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });
});
