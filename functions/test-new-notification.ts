import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { ok } from '../shared/adapters/http-api/answer.ts';
import { endpoint } from '../shared/adapters/http-api/endpoint.ts';
import { jsonBody, valid } from '../shared/adapters/http-api/request.ts';
import { createTestRunner } from '../shared/adapters/test-runner.ts';
import { tokenAuthentication } from '../shared/adapters/token-repository.ts';
import { parseDestination } from '../shared/contracts/notification.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['test-new-notification'].parse(process.env);
const client = createDocumentClient();
const runTest = createTestRunner(createAccountRepository(client, environment.ACCOUNTS_TABLE), environment);

/** POST /test-notification: 200 with what became of a test message to a destination that is not kept. */
export const handler = endpoint(
  'test-new-notification',
  tokenAuthentication(client, environment),
  (request) => valid(parseDestination(jsonBody(request))),
  async (destination, { tenant }) => ok(await runTest(tenant, destination)),
);
