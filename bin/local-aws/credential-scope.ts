import type { AwsFault } from './aws-service.ts';

/** The access key of a signature, and the region and service that it is for. */
export type CredentialScope = { accessKey: string; region: string; service: string };

/**
 * Reads `Credential=<key>/<date>/<region>/<service>/aws4_request` from an authorization header. Returns empty texts for
 * what is missing.
 */
export const readCredentialScope = (authorization = ''): CredentialScope => {
  const [accessKey = '', , region = '', service = ''] =
    /Credential=([^,\s]*)/.exec(authorization)?.[1]?.split('/') ?? [];
  return { accessKey, region, service: service === 'email' ? 'ses' : service };
};

/** Where a request arrived, and its protocol. */
type Receiver = { service: string; region: string; protocol: 'json' | 'query' | 'rest' };

/**
 * Returns the error with which AWS refuses a signature for another service or region, or undefined. An unsigned request
 * has none: https://docs.aws.amazon.com/IAM/latest/UserGuide/signature-v4-troubleshooting.html
 */
export const credentialScopeFault = (signed: CredentialScope, receiver: Receiver): AwsFault | undefined => {
  if (signed.service === '') return undefined;
  const messages = [
    signed.region !== receiver.region && 'Credential should be scoped to a valid region. ',
    signed.service !== receiver.service && `Credential should be scoped to correct service: '${receiver.service}'. `,
  ].filter((message) => message !== false);
  if (messages.length === 0) return undefined;
  const message = messages.join('');
  return receiver.protocol === 'query'
    ? { status: 403, type: 'SignatureDoesNotMatch', message }
    : { status: receiver.protocol === 'json' ? 400 : 403, type: 'InvalidSignatureException', message };
};
