import type { IncomingHttpHeaders } from 'node:http';

/** Names that always mean this machine, with an optional port. */
const LOOPBACK_HOST = /^(localhost|[\w.-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Returns why a server on loopback refuses a request that a page of another machine may have sent, or undefined if it
 * accepts the request. Listening on loopback is no protection: any page in a browser on this machine can send requests
 * to 127.0.0.1, and can also read the responses if its own name resolves to 127.0.0.1 (DNS rebinding). The Host header
 * then has that name. Browsers always send a Host header, so a request without one is accepted.
 */
export const loopbackRefusal = (
  { host, origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>,
  isOpaqueAllowed = false,
): string | undefined => {
  if (host !== undefined && !LOOPBACK_HOST.test(host)) {
    return 'The Host header must be a loopback name, such as 127.0.0.1 or localhost.';
  }
  // A form of a page with the policy `no-referrer` has the origin `null`, like one of a sandboxed page of anybody: the Host
  // header protects against DNS rebinding, and requests with effects need a token or the link in an email.
  if (
    origin !== undefined &&
    !(isOpaqueAllowed && origin === 'null') &&
    !LOOPBACK_HOST.test(origin.replace(/^https?:\/\//, ''))
  ) {
    return 'The Origin header must be a loopback address.';
  }
  return undefined;
};

/**
 * Returns why a server on loopback refuses a request of any page but its own, those of other servers on this machine
 * included, or undefined if it accepts the request. A GET without CORS has no Origin header, but browsers send
 * `Sec-Fetch-Site` to loopback addresses (https://developer.mozilla.org/docs/Web/HTTP/Headers/Sec-Fetch-Site).
 */
export const foreignPageRefusal = (headers: IncomingHttpHeaders): string | undefined => {
  const refusal = loopbackRefusal(headers);
  if (refusal !== undefined) return refusal;
  const { host, origin, 'sec-fetch-site': site } = headers;
  const isForeign = origin === undefined ? site === 'cross-site' || site === 'same-site' : origin !== `http://${host}`;
  return isForeign ? 'Pages of other origins cannot use this server.' : undefined;
};
