const texts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not yet valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  EAI_AGAIN: 'the host name could not be resolved',
  ECONNCLOSED: 'the connection was closed without a response',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'the host name does not exist',
  EPIPE: 'the connection was reset',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  ETIMEDOUT: 'the connection timed out',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain contains a self-signed certificate',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of the certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of the certificate is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate chain is incomplete',
};

/** Codes of which only the first characters are known, such as `HPE_INVALID_CONSTANT` of Node.js. */
const prefixes: readonly [prefix: string, text: string][] = [
  ['HPE_', 'the response is not valid HTTP'],
  ['CERT_', 'the certificate is invalid'],
  ['ERR_SSL_', 'the TLS handshake failed'],
  ['ERR_TLS_', 'the TLS handshake failed'],
  ['EPROTO', 'the TLS handshake failed'],
];

/** Returns a text such as `connection refused`. */
export const networkErrorText = (code: string | undefined): string => {
  if (code === undefined) return 'the connection failed';
  const known = Object.hasOwn(texts, code) ? texts[code] : undefined;
  return known ?? prefixes.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'the connection failed';
};

/** Of Node.js or the AWS SDK. It excludes free text, which may be confidential. */
const CODE = /^[A-Za-z][\w.]{0,63}$/;

/** The code is safe to log. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && CODE.test(error.code)
    ? error.code
    : undefined;
