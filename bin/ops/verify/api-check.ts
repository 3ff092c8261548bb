import { errorSummary } from '../errors.ts';
import { type Check, failed, ok } from './check.ts';

const TIMEOUT_MS = 30_000;

/** Sends a request without a token, which every API of this service refuses. */
export const apiCheck: Check = {
  name: 'api',
  proves: 'the API answers at the base URL',
  resolve:
    'check the DNS record and the certificate (docs/operations.md#4-domain-and-certificate), then docs/runbook.md#the-api-returns-5xx',
  run: async ({ session }) => {
    const url = `${session.deployment.outputs.BaseUrl}/notifications`;
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => error);
    // The cause says whether the name, the connection or the certificate is wrong.
    if (response instanceof Error) return failed(`${url}: ${errorSummary(response.cause ?? response)}`);
    const { status } = response;
    return status === 401 ? ok(url) : failed(`${url} responds with ${status} instead of 401`);
  },
};
