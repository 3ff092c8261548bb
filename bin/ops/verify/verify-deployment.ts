import {
  type EventSourceMappingConfiguration,
  GetAccountSettingsCommand,
  LambdaClient,
  paginateListEventSourceMappings,
} from '@aws-sdk/client-lambda';
import {
  GetAccountSendingEnabledCommand,
  GetIdentityDkimAttributesCommand,
  GetIdentityVerificationAttributesCommand,
  GetSendQuotaCommand,
  SESClient,
} from '@aws-sdk/client-ses';
import { GetSMSAttributesCommand, GetSMSSandboxAccountStatusCommand, SNSClient } from '@aws-sdk/client-sns';
import { stackResources } from '../deployment.ts';
import { errorSummary, OperationError } from '../errors.ts';
import type { Session } from '../session.ts';
import { realTime } from '../table-scan.ts';
import { type Check, deliveryCheck, type Finding, failed, ofDeployed, ok, skipped } from './delivery-check.ts';

const TIMEOUT_MS = 30_000;

/** Sends a request from this machine. @returns its status, or why there is no response: a name, connection or certificate */
const statusOf = async (url: string, init: RequestInit = {}): Promise<number | string> => {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
    (error: Error) => error,
  );
  return response instanceof Error ? errorSummary(response.cause ?? response) : response.status;
};

/** Sends a request without a token, which every API of this service refuses. */
export const apiCheck: Check = {
  name: 'api',
  proves: 'the API answers at the base URL',
  resolve:
    'check the DNS record and the certificate (docs/operations.md#4-domain-and-certificate), then docs/runbook.md#the-api-returns-5xx',
  run: async ({ session }) => {
    const url = `${session.deployment.outputs.BaseUrl}/notifications`;
    const status = await statusOf(url);
    if (typeof status === 'string') return failed(`${url}: ${status}`);
    return status === 401 ? ok(url) : failed(`${url} responds with ${status} instead of 401`);
  },
};

/**
 * The operators' endpoints: a request that creates nothing there, because it is an empty event or reads, and the
 * statuses of a wrong address or access. Senders follow no redirect. A router has no resource without keys, and a feed
 * responds with 200 or 405 to a request that reads.
 */
const endpoints = [
  { setting: 'pagerEndpoint', init: { method: 'POST', body: '{}' }, wrong: /^(3..|404|405|410|5..)$/ },
  { setting: 'routerEndpoint', init: {}, wrong: /^(3..|5..)$/ },
  { setting: 'feedEndpoint', init: {}, wrong: /^(3..|401|403|404|410|5..)$/ },
] as const;

const endpointChecks = endpoints.map(
  ({ setting, init, wrong }): Check => ({
    name: setting,
    proves: 'the endpoint responds to this machine',
    resolve: `correct the setting ${setting}: its failures look like mistakes of tenants`,
    run: async ({ session }) => {
      const { [setting]: url, changed } = session.deployment.outputs.Settings;
      if (url === '') return skipped('not set');
      // The output of the stack does not have the credentials in a URL.
      const status = await statusOf(url.replace('***@', ''), { ...init, redirect: 'manual' });
      if (status === 401 && url.includes('***@')) return ok(`${url}: 401 without its credentials`);
      if (typeof status === 'number')
        return wrong.test(String(status)) ? failed(`${url} responds with ${status}`) : ok(`${url}: ${status}`);
      return changed.egress === 'static'
        ? skipped(`${url}: ${status}; it may permit only the stack`)
        : failed(`${url}: ${status}`);
    },
  }),
);

/** An event source of the stack, and what Lambda knows of it; undefined if it was deleted. */
type EventSource = { logicalId: string; mapping: EventSourceMappingConfiguration | undefined };

export const eventSourcesOf = async ({ deployment }: Session, stackName: string): Promise<EventSource[]> => {
  const client = new LambdaClient(deployment.aws);
  const pages = await Array.fromAsync(paginateListEventSourceMappings({ client }, {}));
  const mappings = new Map(
    pages.flatMap(({ EventSourceMappings = [] }) => EventSourceMappings.map((mapping) => [mapping.UUID, mapping])),
  );
  const resources = await stackResources(deployment, stackName);
  return resources
    .filter(({ type }) => type === 'AWS::Lambda::EventSourceMapping')
    .map(({ logicalId, physicalId }) => ({ logicalId, mapping: mappings.get(physicalId) }));
};

export const eventSourcesCheck: Check = {
  name: 'event-sources',
  proves: 'Lambda receives the messages of every queue and the records of the stream',
  resolve: 'enable it: docs/runbook.md#messages-wait-too-long',
  run: ofDeployed(async (session, stackName) => {
    const sources = await eventSourcesOf(session, stackName);
    const problems = sources.flatMap(({ logicalId, mapping }) =>
      mapping?.State === 'Enabled' ? [] : [`${logicalId}: ${mapping?.State ?? 'does not exist'}`],
    );
    return problems.length > 0 ? failed(problems.join(', ')) : ok(`${sources.length} event sources`);
  }),
};

/** The daily quota of an account in the SES sandbox, whose state only version 2 of the API returns. */
const SANDBOX_EMAILS_PER_DAY = 200;

/** Returns the identities with which SES can send from an address: itself, its domain and parent domains. */
const identitiesOf = (address: string): string[] => {
  const labels = address.slice(address.lastIndexOf('@') + 1).split('.');
  return [address, ...labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))];
};

/** The checks of quotas and sandboxes, which belong to the account and the region. */
export const accountChecks: readonly Check[] = [
  {
    name: 'email-identity',
    proves: 'SES has verified the sender',
    resolve: 'verify emailFrom or its domain (docs/operations.md#6-dkim-spf-and-dmarc)',
    run: ofDeployed(async ({ deployment }) => {
      const ses = new SESClient(deployment.aws);
      const { emailFrom } = deployment.outputs.Settings;
      const Identities = identitiesOf(emailFrom);
      const { VerificationAttributes } = await ses.send(new GetIdentityVerificationAttributesCommand({ Identities }));
      // Version 2 of the API verifies a domain by DKIM, without the TXT record that the other status is about.
      const { DkimAttributes } = await ses.send(new GetIdentityDkimAttributesCommand({ Identities }));
      const verified = Identities.find(
        (identity) =>
          VerificationAttributes?.[identity]?.VerificationStatus === 'Success' ||
          DkimAttributes?.[identity]?.DkimVerificationStatus === 'Success',
      );
      return verified ? ok(verified) : failed(`${emailFrom} is not verified`);
    }),
  },
  {
    name: 'email-sandbox',
    proves: 'SES sends to any recipient',
    resolve: 'request production access (docs/operations.md#2-ses-production-access)',
    run: ofDeployed(async ({ deployment }) => {
      const ses = new SESClient(deployment.aws);
      const { Max24HourSend = 0, MaxSendRate = 0 } = await ses.send(new GetSendQuotaCommand());
      const { Enabled } = await ses.send(new GetAccountSendingEnabledCommand());
      const quota = `${Max24HourSend} emails a day, ${MaxSendRate} a second`;
      if (!Enabled) return failed('sending is paused', 'see docs/runbook.md#ses-or-sns-fails');
      if (Max24HourSend === SANDBOX_EMAILS_PER_DAY) return failed(`in the sandbox: ${quota}`);
      return ok(Max24HourSend < 0 ? 'no daily quota' : quota);
    }),
  },
  {
    name: 'sms-sandbox',
    proves: 'SNS sends SMS to any number',
    resolve:
      'exit the SMS sandbox (docs/operations.md#3-sms-origination-and-spending-limit), or set smsPerTenantPerDay to 0',
    run: ofDeployed(async ({ deployment }) => {
      if (deployment.outputs.Settings.smsPerTenantPerDay === 0) return skipped('smsPerTenantPerDay is 0');
      const { IsInSandbox } = await new SNSClient(deployment.aws).send(new GetSMSSandboxAccountStatusCommand());
      return IsInSandbox ? failed('in the sandbox') : ok('not in the sandbox');
    }),
  },
  {
    name: 'sms-limit',
    proves: 'SNS sends SMS until the budget is spent, whose alarm fires before',
    resolve:
      'raise MonthlySpendLimit (docs/operations.md#3-sms-origination-and-spending-limit), or lower smsMonthlyBudgetUsd',
    run: ofDeployed(async ({ deployment }) => {
      const { smsMonthlyBudgetUsd, smsPerTenantPerDay } = deployment.outputs.Settings;
      if (smsPerTenantPerDay === 0) return skipped('smsPerTenantPerDay is 0');
      const request = new GetSMSAttributesCommand({ attributes: ['MonthlySpendLimit'] });
      const { attributes = {} } = await new SNSClient(deployment.aws).send(request);
      // AWS returns no attribute that was never set; the limit of a new account is 1 USD.
      const limit = Number(attributes.MonthlySpendLimit ?? 1);
      const found = `MonthlySpendLimit is ${limit} USD, smsMonthlyBudgetUsd ${smsMonthlyBudgetUsd}`;
      return limit < smsMonthlyBudgetUsd ? failed(found) : ok(found);
    }),
  },
  {
    name: 'lambda-concurrency',
    proves: 'Lambda has the concurrency in lambdaConcurrencyQuota, and more than the event sources can use',
    resolve: 'request a higher quota, or correct the settings (docs/operations.md#1-lambda-quotas)',
    run: ofDeployed(async (session, stackName) => {
      const { deployment } = session;
      const lambda = new LambdaClient(deployment.aws);
      const { AccountLimit: { ConcurrentExecutions: quota = 0 } = {} } = await lambda.send(
        new GetAccountSettingsCommand(),
      );
      const used = (await eventSourcesOf(session, stackName)).reduce(
        (sum, { mapping }) => sum + (mapping?.ScalingConfig?.MaximumConcurrency ?? 0),
        0,
      );
      const { lambdaConcurrencyQuota } = deployment.outputs.Settings;
      const found = `the quota is ${quota}, lambdaConcurrencyQuota ${lambdaConcurrencyQuota}, and the event sources use up to ${used}`;
      return quota < lambdaConcurrencyQuota || quota <= used ? failed(found) : ok(found);
    }),
  },
];

const checks: readonly Check[] = [apiCheck, ...endpointChecks, deliveryCheck, eventSourcesCheck, ...accountChecks];

/** What a check found. `resolve` is null if nothing is to be done. */
export type Result = Pick<Check, 'name' | 'proves'> & Pick<Finding, 'status' | 'found'> & { resolve: string | null };

/** An expected error is what the check found. Any other one prevented it. */
const unanswered = (error: unknown): Finding =>
  error instanceof OperationError
    ? failed(error.message)
    : failed(`not checked: ${errorSummary(error)}`, 'run it again, with credentials that permit the request');

/** Runs all checks. One that cannot be answered has failed. */
export const verifyDeployment = async (session: Session, timing = realTime): Promise<Result[]> => {
  let ended = 0;
  return Promise.all(
    checks.map(async ({ name, proves, resolve, run }): Promise<Result> => {
      const finding = await run({ session, timing }).catch(unanswered);
      session.progress.show(`${++ended} of ${checks.length} checks`);
      const { status, found } = finding;
      return { name, proves, status, found, resolve: status === 'failed' ? (finding.resolve ?? resolve) : null };
    }),
  );
};
