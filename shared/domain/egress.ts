import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;

/** All of the global unicast space that is assigned so far (IANA, IPv6 address space). */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3');

/** Local-use NAT64 (RFC 8215): nobody's but the network's own, and its inner address may stand anywhere. */
const LOCAL_NAT64 = ipaddr.parseCIDR('64:ff9b:1::/48');

const v4 = (bytes: number[]): Address => ipaddr.fromByteArray(bytes);

/**
 * The IPv4 addresses that an IPv6 address stands for: a packet to it may come out at them (mapped, RFC 4291; NAT64, RFC 6052;
 * 6to4, RFC 3056; Teredo, RFC 4380, which names a server and a client with all its bits turned).
 */
const embedded = (address: Address): Address[] => {
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
  const inner = embedded(address);
  if (inner.length > 0) return inner.every(isPublicUnicast);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6));
};

/**
 * Makes the egress rule (design 3): true where a user's URL may reach an address, which is any public unicast one, of
 * either family and in every form that embeds another, and whatever the settings allow besides.
 *
 * @param allowed CIDR blocks
 */
export const egressRule = (allowed: readonly string[]): EgressRule => {
  const blocks = allowed.map((block) => ipaddr.parseCIDR(block));
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.parse(text);
    const isAllowed = blocks.some(([block, bits]) => block.kind() === address.kind() && address.match([block, bits]));
    return isAllowed || isPublicUnicast(address);
  };
};

/** Says whether an address, as text, may be dialled. */
export type EgressRule = (address: string) => boolean;

/** For addresses that the operators chose, which may lie in their own network. */
export const anyAddress: EgressRule = () => true;
