import ipaddr from 'ipaddr.js';
import type { UrlRule } from '../contracts/notification-fields.ts';

type Address = ReturnType<typeof ipaddr.parse>;

/** IANA IPv6 address space. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3');

/** RFC 8215: the position of the embedded address depends on the network. */
const LOCAL_NAT64 = ipaddr.parseCIDR('64:ff9b:1::/48');

const v4 = (bytes: number[]): Address => ipaddr.fromByteArray(bytes);

/**
 * The IPv4 addresses that packets to an IPv6 address may reach: IPv4-mapped (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC
 * 3056) and Teredo (RFC 4380), which embeds a server and a client with inverted bits.
 */
const embeddedAddresses = (address: Address): Address[] => {
  const bytes = address.toByteArray();
  switch (address.range()) {
    case 'ipv4Mapped':
    case 'rfc6052':
      return [v4(bytes.slice(12))];
    case '6to4':
      return [v4(bytes.slice(2, 6))];
    case 'teredo':
      return [v4(bytes.slice(4, 8)), v4(bytes.slice(12).map((byte) => byte ^ 0xff))];
    default:
      return [];
  }
};

const isPublicUnicast = (address: Address): boolean => {
  if (address.kind() === 'ipv6' && address.match(LOCAL_NAT64)) return false;
  const embedded = embeddedAddresses(address);
  if (embedded.length > 0) return embedded.every(isPublicUnicast);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6));
};

/**
 * Public unicast addresses and the allowed CIDR blocks (docs/decisions/outbound.md#ssrf-protection). An address that
 * embeds others is public only if all of them are. @throws Error if a block is invalid
 */
export const egressRule = (allowedBlocks: readonly string[]): EgressRule => {
  const blocks = allowedBlocks.map((block) => ipaddr.parseCIDR(block));
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.parse(text);
    const isAllowed = blocks.some(([block, bits]) => block.kind() === address.kind() && address.match([block, bits]));
    return isAllowed || isPublicUnicast(address);
  };
};

/** Whether connections to an IP address are allowed. */
export type EgressRule = (address: string) => boolean;

/** URL parsing normalizes IPv4 notations (WHATWG URL) and brackets IPv6. */
export const literalAddress = ({ hostname }: URL): string | undefined => {
  const host = hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(host) ? host : undefined;
};

/** Accepts URLs with a host name, or an allowed address. */
export const urlRule = (allowedBlocks: readonly string[]): UrlRule => {
  const isAllowed = egressRule(allowedBlocks);
  return (url) => {
    const address = literalAddress(new URL(url));
    return address === undefined || isAllowed(address);
  };
};

/** For endpoints of the operators, which may be in a private network. */
export const anyAddress: EgressRule = () => true;
