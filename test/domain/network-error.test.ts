import { expect, it } from 'vitest';
import { networkErrorText } from '../../shared/domain/network-error.ts';

it.each([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'the host name does not exist'],
  ['CERT_HAS_EXPIRED', 'the certificate has expired'],
  ['CERT_REVOKED', 'the certificate is invalid'],
  ['HPE_INVALID_CONSTANT', 'the response is not valid HTTP'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the TLS handshake failed'],
  ['constructor', 'the connection failed'],
  [undefined, 'the connection failed'],
])('the error code %s means: %s', (code, text) => {
  expect(networkErrorText(code)).toBe(text);
});
