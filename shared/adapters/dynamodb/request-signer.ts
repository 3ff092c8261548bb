import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

/** The credentials of a request. */
type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined };

/** A POST request without a query. Names of headers are in lower case. */
export type UnsignedRequest = { path: string; headers: Record<string, string>; body: string | Uint8Array };

type Key = { date: string; region: string; secretAccessKey: string; key: KeyObject };

const ALGORITHM = 'AWS4-HMAC-SHA256';

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/**
 * Creates a signer by AWS Signature Version 4 (IAM user guide, "Create a signed AWS API request"). It derives the
 * signing key once per day, which the signer of the AWS SDK looks up by a hash of the credentials for each request.
 *
 * @returns a function that returns the headers of a request with its signature
 */
export const createRequestSigner = (service: string) => {
  let current: Key | undefined;

  const signingKey = (secretAccessKey: string, date: string, region: string): KeyObject => {
    const isCurrent =
      current?.date === date && current.region === region && current.secretAccessKey === secretAccessKey;
    if (current && isCurrent) return current.key;
    const dateKey = hmac(`AWS4${secretAccessKey}`, date);
    const key = createSecretKey(hmac(hmac(hmac(dateKey, region), service), 'aws4_request'));
    current = { date, region, secretAccessKey, key };
    return key;
  };

  return (
    { path, headers, body }: UnsignedRequest,
    { accessKeyId, secretAccessKey, sessionToken }: Credentials,
    region: string,
    nowMs: number,
  ): Record<string, string> => {
    const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
    const date = time.slice(0, 8);
    const signed: Record<string, string> = {
      ...headers,
      'x-amz-date': time,
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
    };
    const names = Object.keys(signed).sort();
    const signedHeaders = names.join(';');
    const canonicalHeaders = names.map((name) => `${name}:${signed[name]?.trim()}\n`).join('');
    const canonicalRequest = `POST\n${path}\n\n${canonicalHeaders}\n${signedHeaders}\n${hash('sha256', body)}`;
    const scope = `${date}/${region}/${service}/aws4_request`;
    const text = `${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', canonicalRequest)}`;
    const signature = createHmac('sha256', signingKey(secretAccessKey, date, region))
      .update(text)
      .digest('hex');
    const credential = `${accessKeyId}/${scope}`;
    return {
      ...signed,
      authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    };
  };
};
