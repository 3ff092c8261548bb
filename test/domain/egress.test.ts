import { describe, expect, it } from 'vitest';
import { egressRule, urlRule } from '../../shared/domain/egress.ts';

const isAllowed = egressRule([]);

/** The first and last address of each range, and some in between. */
const blocked: [range: string, addresses: string[]][] = [
  ['this network', ['0.0.0.0', '0.0.0.1', '0.255.255.255']],
  ['private 10/8', ['10.0.0.0', '10.0.0.1', '10.255.255.255']],
  ['shared 100.64/10', ['100.64.0.0', '100.100.100.200', '100.127.255.255']],
  ['loopback', ['127.0.0.0', '127.0.0.1', '127.255.255.255']],
  [
    'link-local, with the instance metadata endpoint',
    ['169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255'],
  ],
  ['private 172.16/12', ['172.16.0.0', '172.17.0.1', '172.31.255.255']],
  ['protocol assignments', ['192.0.0.0', '192.0.0.192', '192.0.0.255']],
  ['documentation 1', ['192.0.2.0', '192.0.2.255']],
  ['6to4 relays', ['192.88.99.0', '192.88.99.255']],
  ['private 192.168/16', ['192.168.0.0', '192.168.1.1', '192.168.255.255']],
  ['benchmarks', ['198.18.0.0', '198.19.255.255']],
  ['documentation 2', ['198.51.100.0', '198.51.100.255']],
  ['documentation 3', ['203.0.113.0', '203.0.113.255']],
  ['multicast', ['224.0.0.0', '224.0.0.251', '239.255.255.255']],
  ['reserved', ['240.0.0.0', '254.255.255.255', '255.255.255.254']],
  ['broadcast', ['255.255.255.255']],
  ['unspecified of IPv6', ['::']],
  ['loopback of IPv6', ['::1', '0:0:0:0:0:0:0:1']],
  ['IPv4-compatible', ['::2', '::127.0.0.1', '::10.0.0.1', '::808:808', '::ffff']],
  ['IPv4-mapped private', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '0:0:0:0:0:ffff:c0a8:101']],
  ['IPv4-translated', ['::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8']],
  ['NAT64 of private addresses', ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1']],
  ['local-use NAT64 (RFC 8215)', ['64:ff9b:1::', '64:ff9b:1:a00:0:100:808:808']],
  ['discard-only', ['100::', '100::ffff:ffff:ffff:ffff']],
  ['Teredo with a private client', ['2001:0:4136:e378:8000:63bf:80ff:fffe', '2001:0:808:808:0:0:5601:5601']],
  ['Teredo with a private server', ['2001:0:a00:1:0:0:f7f7:f7f7', '2001::7f00:1:0:f7f7:f7f7']],
  ['protocol assignments of IPv6', ['2001:1::', '2001:2::', '2001:2:0:ffff::', '2001:10::', '2001:20::', '2001:1ff::']],
  ['documentation of IPv6', ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '3fff::', '3fff:fff:ffff::']],
  ['6to4 of private addresses', ['2002:7f00:1::', '2002:a00:1::1', '2002:a9fe:a9fe::', '2002:c0a8:101::1']],
  ['6to4 of reserved addresses', ['2002:0:1::', '2002:6440:1::', '2002:e000:1::', '2002:ffff:ffff::']],
  ['not assigned', ['4000::', '1::', '200::1', '1fff:ffff::', '5f00::1', '8000::1', 'dfff::1']],
  ['unique local, with the instance metadata endpoint', ['fc00::', 'fd00:ec2::254', 'fd00:ec2::253', 'fdff:ffff::1']],
  ['link-local of IPv6', ['fe80::', 'fe80::1', 'fe80::1%eth0', 'febf:ffff::1']],
  ['site-local', ['fec0::', 'feff:ffff::1']],
  ['multicast of IPv6', ['ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
];

const allowed: [range: string, addresses: string[]][] = [
  ['well-known', ['1.1.1.1', '8.8.8.8', '93.184.216.34', '52.94.236.248']],
  ['beside 0/8 and 10/8', ['1.0.0.0', '9.255.255.255', '11.0.0.0']],
  ['beside 100.64/10', ['100.63.255.255', '100.128.0.0']],
  ['beside 127/8', ['126.255.255.255', '128.0.0.0']],
  ['beside 169.254/16', ['169.253.255.255', '169.255.0.0']],
  ['beside 172.16/12', ['172.15.255.255', '172.32.0.0']],
  ['beside 192.0.0/24 and 192.0.2/24', ['192.0.1.0', '192.0.1.255', '192.0.3.0']],
  ['beside 192.88.99/24 and 192.168/16', ['192.88.98.255', '192.88.100.0', '192.167.255.255', '192.169.0.0']],
  ['beside 198.18/15 and 198.51.100/24', ['198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0']],
  ['beside 203.0.113/24 and 224/4', ['203.0.112.255', '203.0.114.0', '223.255.255.255']],
  ['of IPv6', ['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '2001:200::', '2001:4860:4860::8888', '2003::']],
  ['beside what is reserved in IPv6', ['2000::1', '2001:db7:ffff::1', '2001:db9::1', '3ffe:ffff::1', '3fff:1000::']],
  ['IPv4-mapped', ['::ffff:8.8.8.8', '::ffff:101:101']],
  ['through NAT64', ['64:ff9b::8.8.8.8', '64:ff9b::101:101']],
  ['through 6to4', ['2002:808:808::1']],
  ['through Teredo, server and client', ['2001:0:808:808:0:0:f7f7:f7f7', '2001:0:4136:e378:8000:63bf:f7f7:f7f7']],
];

const cases = (table: [string, string[]][]) =>
  table.flatMap(([range, addresses]) => addresses.map((address) => ({ range, address })));

describe('a tenant URL', () => {
  it.each(cases(blocked))('cannot reach $address: $range', ({ address }) => {
    expect(isAllowed(address)).toBe(false);
  });

  it.each(cases(allowed))('can reach $address: $range', ({ address }) => {
    expect(isAllowed(address)).toBe(true);
  });

  it.each([
    '',
    ' ',
    'example.com',
    '8.8.8.8.8',
    '8.8.8.8/32',
    '[::1]',
    '8.8.8.8 ',
    '256.1.1.1',
    ':::',
    'g::1',
    '127.1',
  ])('cannot reach what is no IP address in the usual notation: "%s"', (text) => {
    expect(isAllowed(text)).toBe(false);
  });
});

describe('a rule with allowed blocks', () => {
  const withLoopback = egressRule(['127.0.0.0/8', '::1/128', '10.1.0.0/16', 'fd12::/32']);

  it.each(['127.0.0.1', '127.255.255.255', '::1', '10.1.0.0', '10.1.255.255', 'fd12::1', '8.8.8.8'])(
    'allows addresses in the blocks: %s',
    (address) => {
      expect(withLoopback(address)).toBe(true);
    },
  );

  it.each(['10.0.255.255', '10.2.0.0', '::2', '::', 'fd12:1::1', '169.254.169.254', '128.0.0.1%lo', '2002:7f00:1::'])(
    'rejects other private addresses: %s',
    (address) => {
      expect(withLoopback(address)).toBe(false);
    },
  );

  it('cannot be created with an invalid block', () => {
    for (const block of ['loopback', '127.0.0.1', '127.0.0.0/33', '']) expect(() => egressRule([block])).toThrow();
  });
});

it('the rule of URLs applies to addresses in any notation, and not to names', () => {
  const isAllowedUrl = urlRule(['10.1.0.0/16']);
  const blocked = ['http://127.1/', 'https://0x7f000001', 'http://u:p@[::1]:8080/a', 'http://[::ffff:10.2.0.1]'];
  expect(blocked.filter(isAllowedUrl)).toEqual([]);
  const others = ['http://10.1.0.1/', 'https://8.8.8.8', 'http://localhost', 'http://10.2.0.1.example.com'];
  expect(others.filter(isAllowedUrl)).toEqual(others);
});
