import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { calledOperation } from 'local-aws/called-operation.ts';
import { credentialScopeFault, readCredentialScope } from 'local-aws/credential-scope.ts';
import { close, listen, origin } from 'local-aws/http.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { limitNames } from '../../shared/contracts/tenant-limits.ts';

/** The names of the stacks that the stub has, both with the same outputs. */
const STACKS = ['Prod', 'MonitoringNotifications'];

const xml = (tag: string, content: string): string => `<${tag}>${content}</${tag}>`;

export const PRINCIPAL = 'arn:aws:sts::111111111111:assumed-role/Operator/jo';

/** The response of STS that names the operator. */
export const callerIdentity = xml('GetCallerIdentityResponse', xml('GetCallerIdentityResult', xml('Arn', PRINCIPAL)));

/** The error code and message with which AWS responds. */
export class AwsFailure {
  readonly code: string;
  readonly message: string;

  constructor(code: string, message: string) {
    this.code = code;
    this.message = message;
  }
}

const sendFailure = (response: ServerResponse, { code, message }: AwsFailure, isJson: boolean): void => {
  response.statusCode = 400;
  response.end(
    isJson
      ? JSON.stringify({ __type: code, message })
      : xml('ErrorResponse', xml('Error', xml('Code', code) + xml('Message', message))),
  );
};

/** Returns the outputs of a stack whose API and queues have this URL. */
export const stackOutputs = (url: string): Record<string, string> => {
  const queue = (name: string) => ({
    queue: `${url}/1/${name}`,
    deadLetters: `${url}/1/${name}-dead`,
    ...(name !== 'alarm-events' && { retries: `${url}/1/${name}-retries` }),
  });
  return {
    BaseUrl: url,
    Version: '4.0.0',
    Commit: '1f403b7e',
    ManagedTopicArn: 'arn:aws:sns:eu-west-1:111111111111:operators',
    Settings: JSON.stringify({
      emailFrom: 'alerts@mail.example.com',
      smsPerTenantPerDay: 1_000,
      smsMonthlyBudgetUsd: 1,
      lambdaConcurrencyQuota: 1_000,
      pagerEndpoint: url,
      routerEndpoint: url,
      feedEndpoint: `${url}/feed`,
      changed: { emailFrom: 'alerts@mail.example.com', senderConcurrencyByType: { webhook: 100 } },
    }),
    AlarmEventsQueueArn: 'arn:aws:sqs:eu-west-1:111111111111:events',
    NotificationsTable: 'notifications',
    AccountsTable: 'accounts',
    TokensTable: 'tokens',
    DeliveriesTable: 'deliveries',
    AuditsTable: 'audits',
    AuditRetentionDays: '90',
    TenantLimits: JSON.stringify(Object.fromEntries(limitNames.map((name) => [name, 1_000]))),
    QueueUrls: JSON.stringify(
      Object.fromEntries(
        ['alarm-events', ...notificationTypeIds, 'email-events', 'delivery-reports', 'crashed'].map((name) => [
          name,
          queue(name),
        ]),
      ),
    ),
  };
};

/** The responses of the stub by action, or by method and path of a REST API, as JSON or XML. A response that is undefined is a failure of AWS. */
export type Responses = Readonly<Record<string, (body: string) => object | string | undefined>>;

/**
 * Starts a stub of AWS with two stacks, and records the requests. Responses are empty apart from `responses`: other
 * queries and reads return nothing. It refuses signatures for another service.
 */
export const startAwsStub = async (responses: Responses = {}) => {
  const stub: { actions: string[]; refused: string[]; regions: Set<string>; failure: AwsFailure | undefined } = {
    actions: [],
    refused: [],
    regions: new Set(),
    failure: undefined,
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const form = new URLSearchParams(body);
    const [path = ''] = request.url?.split('?', 1) ?? [];
    const called = calledOperation(request.headers['x-amz-target']?.toString(), path, Buffer.from(body));
    const isJson = called.protocol === 'json';
    const isRest = !isJson && !form.has('Action');
    const action = isRest ? `${request.method} ${path.replace(/\/$/, '')}` : called.action;
    stub.actions.push(action);
    // Only requests of the API, whose tokens the stub does not know, and of the operators' endpoints have no credentials.
    if (request.headers.authorization === undefined) return response.writeHead(path === '/feed' ? 200 : 401).end();
    const signed = readCredentialScope(request.headers.authorization);
    stub.regions.add(signed.region);
    const { protocol, service = signed.service } = called;
    const fault = credentialScopeFault(signed, { service, protocol, region: signed.region });
    if (fault) stub.refused.push(`${action}: ${fault.message}`);
    const failure = fault ? new AwsFailure(fault.type, fault.message) : stub.failure;
    if (failure) return sendFailure(response, failure, isJson);
    const respond = responses[action];
    if (respond) {
      const content = respond(body);
      if (content instanceof AwsFailure) return sendFailure(response, content, isJson);
      if (content === undefined) response.statusCode = 500;
      return response.end(typeof content === 'string' ? content : JSON.stringify(content ?? {}));
    }
    if (action === 'GetCallerIdentity') return response.end(callerIdentity);
    // All tenants exist.
    if (action === 'GetItem' && body.includes('"account#'))
      return response.end(JSON.stringify({ Item: { pk: { S: 'account#acme' } } }));
    if (action === 'ListStackResources') return response.end(xml('ListStackResourcesResponse', ''));
    if (action !== 'DescribeStacks') return response.end('{}');
    const name = form.get('StackName') ?? '';
    if (!STACKS.includes(name)) {
      const failure = new AwsFailure('ValidationError', `Stack with id ${name} does not exist`);
      return sendFailure(response, failure, false);
    }
    const values = Object.entries(outputs).map(([key, value]) =>
      xml('member', xml('OutputKey', key) + xml('OutputValue', value)),
    );
    const stack = xml(
      'member',
      xml('StackName', name) + xml('LastUpdatedTime', '2026-11-26T08:00:00Z') + xml('Outputs', values.join('')),
    );
    response.end(xml('DescribeStacksResponse', xml('DescribeStacksResult', xml('Stacks', stack))));
  });
  const url = origin(await listen(server));
  const outputs = stackOutputs(url);
  return {
    url,
    outputs,
    /**
     * Requested actions in order, such as `GetItem`, those whose signature was refused, and regions. While `failure` is
     * set, every request fails with it.
     */
    stub,
    /** The environment of a user with credentials. */
    env: {
      AWS_ENDPOINT_URL: url,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_REGION: 'eu-central-1',
    },
    stop: () => close(server),
  };
};
