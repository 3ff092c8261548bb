import type { Context } from 'aws-lambda';
import type { ApiRequest } from '../../shared/api/request.ts';
import type { Caller } from '../../shared/domain/token.ts';

/** Returns a request of the HTTP API (payload format 2.0), with changes. */
export const apiRequest = (changes: Partial<ApiRequest> = {}): ApiRequest => ({
  version: '2.0',
  routeKey: 'GET /notifications',
  rawPath: '/notifications',
  rawQueryString: '',
  headers: { host: 'set.by.the.client.example', 'x-auth-token': 'good' },
  requestContext: {
    accountId: '000000000000',
    apiId: 'api',
    domainName: 'api.example.com',
    domainPrefix: 'api',
    http: { method: 'GET', path: '/notifications', protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' },
    requestId: 'request-1',
    routeKey: 'GET /notifications',
    stage: '$default',
    time: '01/Jan/2026:00:00:00 +0000',
    timeEpoch: 0,
  },
  isBase64Encoded: false,
  ...changes,
});

export const lambdaContext: Context = {
  callbackWaitsForEmptyEventLoop: false,
  functionName: 'function',
  functionVersion: '1',
  invokedFunctionArn: 'arn',
  memoryLimitInMB: '512',
  awsRequestId: 'invocation-1',
  logGroupName: 'group',
  logStreamName: 'stream',
  getRemainingTimeInMillis: () => 30_000,
  done: () => undefined,
  fail: () => undefined,
  succeed: () => undefined,
};

export const caller: Caller = { tenant: 'acme', role: 'admin', token: { id: 'tk1', label: 'console' } };
