import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { EgressRule } from '../../domain/egress.ts';

/** An address of a name, as `dns.lookup` gives it. */
export type ResolvedAddress = { address: string; family: number };

/** Resolves a name to all of its addresses; tests inject their own. */
export type Resolve = (hostname: string) => Promise<ResolvedAddress[]>;

/** The system's resolver: every address, IPv4 first, since not every network of ours speaks IPv6. */
export const systemResolve: Resolve = (hostname) => dns.promises.lookup(hostname, { all: true, order: 'ipv4first' });

/** A URL leads where our egress rule does not let it. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  /** True for an address in the URL itself; false for a name, whose addresses may change. */
  readonly literal: boolean;

  constructor(literal: boolean) {
    super('the address is not a public one');
    this.literal = literal;
  }
}

/**
 * A look-up for `net.connect` that refuses a name as soon as one of its addresses is not allowed. What it has checked is
 * what is dialled, so an answer that changes between check and dial (DNS rebinding) gains nothing.
 */
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
