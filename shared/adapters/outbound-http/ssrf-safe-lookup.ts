import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { EgressRule } from '../../domain/egress.ts';

export type ResolvedAddress = { address: string; family: number };

export type Resolve = (hostname: string) => Promise<ResolvedAddress[]>;

/** The system's resolver. IPv4 comes first, since not every network of the service supports IPv6. */
export const systemResolve: Resolve = (hostname) => dns.promises.lookup(hostname, { all: true, order: 'ipv4first' });

/** The URL contains, or its host name resolves to, an address that the egress rule does not allow. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  /** True if the URL contains the address; false if a host name resolved to it, which may change. */
  readonly literal: boolean;

  constructor(literal: boolean) {
    super('The address is not public.');
    this.literal = literal;
  }
}

/** The socket connects to the addresses that were checked (docs/decisions/outbound.md#ssrf-protection). */
export const ssrfSafeLookup =
  (isAllowed: EgressRule, resolve: Resolve): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || !addresses.every(({ address }) => isAllowed(address))) {
          callback(new BlockedAddressError(false), '');
        } else if (options.all) {
          callback(null, addresses);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
