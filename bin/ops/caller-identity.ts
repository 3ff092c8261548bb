import type { SQSClient } from '@aws-sdk/client-sqs';
import { HttpRequest } from '@smithy/core/protocols';
import { endpointVariables } from './deployment.ts';

const BODY = 'Action=GetCallerIdentity&Version=2011-06-15';
const TIMEOUT_MS = 30_000;

/** An error response of STS. `name` is its code, as for errors of the AWS SDK. */
class CallerIdentityError extends Error {
  constructor(status: number, text: string) {
    super(/<Message>(.*?)<\/Message>/s.exec(text)?.[1] ?? `STS responded with status ${status}.`);
    this.name = /<Code>(.*?)<\/Code>/.exec(text)?.[1] ?? 'CallerIdentityError';
  }
}

/**
 * Returns the ARN of the IAM principal whose credentials a client uses, from `sts:GetCallerIdentity`, which needs no
 * permission. The client signs the request, so no client of STS is needed.
 */
export const callerArn = async ({ config }: Pick<SQSClient, 'config'>): Promise<string> => {
  const region = await config.region();
  const endpoints = new Map(endpointVariables());
  const url = new URL(
    endpoints.get('AWS_ENDPOINT_URL_STS') ??
      endpoints.get('AWS_ENDPOINT_URL') ??
      `https://sts.${region}.amazonaws.com/`,
  );
  const signer = await config.signer({ name: 'sigv4', signingName: 'sts', signingRegion: region, properties: {} });
  const { headers } = await signer.sign(
    new HttpRequest({
      method: 'POST',
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      headers: { host: url.host, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: BODY,
    }),
  );
  const response = await fetch(url, { method: 'POST', headers, body: BODY, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const text = await response.text();
  const arn = /<Arn>(.*?)<\/Arn>/.exec(text)?.[1];
  if (!response.ok || arn === undefined) throw new CallerIdentityError(response.status, text);
  return arn;
};
