import { CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
  CfnStage,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import { type EndpointName, endpointNames, endpoints } from '../shared/contracts/endpoints.ts';
import { OPT_OUT_PATH } from '../shared/domain/email-stop.ts';
import type { Delivery } from './delivery.ts';
import { allow, type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { Storage } from './storage.ts';

/** For each route of the public page. API Gateway aims at its throttles: more may pass. */
const PAGE_REQUESTS_PER_SECOND = 20;

const pageMethods = [HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST];

/** How often all tenants together can search deliveries, per second: a request may cost 281 read units. */
const SEARCHES_PER_SECOND = 10;

const routeOf = (name: EndpointName): string => `${endpoints[name].method} ${endpoints[name].path}`;

/** A route and a function for each operation in `endpoints`, the public page of opt-outs, and a default route. */
export class Api extends Construct {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly httpApi: HttpApi;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, storage: Storage, delivery: Delivery) {
    super(scope, id);
    const { settings } = defaults;
    const unknownRoute = new ServiceFunction(this, 'handle-unknown-route', defaults, []);
    const httpApi = new HttpApi(this, 'HttpApi', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      defaultIntegration: new HttpLambdaIntegration('handle-unknown-route', unknownRoute.lambda),
    });
    this.httpApi = httpApi;
    const permissions = permissionsOf(storage, delivery);
    const addRoutes = (name: string, lambda: LambdaFunction, path: string, methods: HttpMethod[]) =>
      httpApi.addRoutes({ path, methods, integration: new HttpLambdaIntegration(name, lambda) });
    const routes = endpointNames.flatMap((name) => {
      const { lambda } = new ServiceFunction(this, name, defaults, permissions[name]);
      const { method, path } = endpoints[name];
      return addRoutes(name, lambda, path, [HttpMethod[method]]);
    });
    const page = new ServiceFunction(this, 'opt-out', defaults, [
      storage.accounts.allow('GetItem', 'UpdateItem'),
      storage.audits.allow('PutItem'),
      delivery.reports.allowSend(),
    ]);
    routes.push(...addRoutes('opt-out', page.lambda, OPT_OUT_PATH, pageMethods));
    const { logRetentionDays: retention, apiRequestsPerSecond: limit } = settings;
    const accessLogs = new LogGroup(this, 'AccessLogs', { retention, removalPolicy: RemovalPolicy.DESTROY });
    const stage = new HttpStage(this, 'Stage', {
      httpApi,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: limit, burstLimit: limit },
      accessLogSettings: {
        destination: new LogGroupLogDestination(accessLogs),
        format: accessLogFormat,
      },
    });
    if (stage.node.defaultChild instanceof CfnStage) {
      const testRoutes = endpointNames.filter((name) => endpoints[name].permission === 'test').map(routeOf);
      const limits = [
        ...testRoutes.map((route) => [route, settings.testRequestsPerSecond] as const),
        [routeOf('search-deliveries'), SEARCHES_PER_SECOND] as const,
        ...pageMethods.map((method) => [`${method} ${OPT_OUT_PATH}`, PAGE_REQUESTS_PER_SECOND] as const),
      ];
      stage.node.defaultChild.routeSettings = Object.fromEntries(
        limits.map(([route, limit]) => [route, { ThrottlingRateLimit: limit, ThrottlingBurstLimit: limit }]),
      );
      // API Gateway rejects settings for a route that does not exist.
      stage.node.addDependency(...routes);
    }
    this.baseUrl = addCustomDomain(this, settings, httpApi, stage) ?? httpApi.apiEndpoint;
  }
}

const permissionsOf = (
  { notifications, tokens, accounts, deliveries, audits }: Storage,
  delivery: Delivery,
): Record<EndpointName, PolicyStatement[]> => {
  const caller = tokens.allow('GetItem');
  const audit = audits.allow('PutItem');
  const limits = accounts.allow('GetItem');
  // A write may store a notification in chunks and delete obsolete ones
  // (docs/decisions/storage.md#large-notifications).
  const writes = ['GetItem', 'BatchWriteItem'] as const;
  const changeNotification = [caller, notifications.allow('PutItem', 'BatchGetItem', ...writes), audit];
  // Senders run tests.
  const invoke = delivery.senders.map(({ lambda }) => allow(['lambda:InvokeFunction'], [lambda.functionArn]));
  const test = [caller, audit, accounts.allow('UpdateItem'), limits, ...invoke];
  return {
    'create-notification': [
      caller,
      notifications.allow('PutItem', 'UpdateItem', 'BatchGetItem', ...writes),
      limits,
      audit,
    ],
    'list-notifications': [caller, notifications.allow('GetItem', 'BatchGetItem', 'Query')],
    'get-notification': [caller, notifications.allow('GetItem', 'BatchGetItem'), accounts.allow('GetItem')],
    'update-notification': changeNotification,
    'delete-notification': [caller, notifications.allow('DeleteItem', 'UpdateItem', ...writes), audit],
    'test-notification': [...test, notifications.allow('BatchGetItem')],
    'test-new-notification': test,
    'list-notification-types': [caller],
    'get-notification-type': [caller],
    'list-deliveries': [caller, notifications.allow('GetItem'), deliveries.allow('Query', 'BatchGetItem')],
    'search-deliveries': [caller, notifications.allow('Query'), deliveries.allow('GetItem', 'BatchGetItem', 'Query')],
    'list-failures': [caller, notifications.allow('BatchGetItem'), deliveries.allow('Query')],
    'create-signing-secret': changeNotification,
    'delete-signing-secret': changeNotification,
    redeliver: [
      caller,
      notifications.allow('BatchGetItem'),
      deliveries.allow('Query', 'BatchGetItem', 'BatchWriteItem', 'UpdateItem'),
      accounts.allow('UpdateItem'),
      audit,
      limits,
      delivery.allowSend(),
    ],
    'get-account': [
      caller,
      accounts.allow('UpdateItem', 'BatchGetItem'),
      notifications.allow('GetItem', 'BatchGetItem'),
      limits,
    ],
    'update-account': [caller, accounts.allow('GetItem', 'UpdateItem'), notifications.allow('GetItem'), audit],
    'rotate-signing-secret': [caller, accounts.allow('GetItem', 'UpdateItem'), audit],
    'list-tokens': [caller],
    'create-token': [caller, tokens.allow('PutItem'), audit],
    'revoke-token': [caller, tokens.allow('PutItem', 'DeleteItem'), audit],
    'list-audits': [caller, audits.allow('Query')],
  };
};

/** Logs no headers, query strings or bodies (docs/decisions/monitoring.md#what-is-logged). */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    time: '$context.requestTimeEpoch',
    request_id: '$context.requestId',
    route: '$context.routeKey',
    status: '$context.status',
    latency_ms: '$context.responseLatency',
    integration_status: '$context.integrationStatus',
    bytes: '$context.responseLength',
  }),
);

/**
 * Adds the custom domain of the API, if the settings have one, and returns the URL of the API in it. They name the hosted
 * zone by ID and name, so synthesis needs no lookups.
 */
const addCustomDomain = (
  parent: Construct,
  { domainName, certificateArn, hostedZoneId, hostedZoneName: zoneName, basePath }: Settings,
  api: HttpApi,
  stage: HttpStage,
): string | undefined => {
  if (domainName === undefined || certificateArn === undefined) return undefined;
  const scope = new Construct(parent, 'CustomDomain');
  const domain = new DomainName(scope, 'DomainName', {
    domainName,
    certificate: Certificate.fromCertificateArn(scope, 'Certificate', certificateArn),
  });
  new ApiMapping(scope, 'ApiMapping', {
    api,
    domainName: domain,
    stage,
    ...(basePath !== undefined && { apiMappingKey: basePath }),
  });
  if (hostedZoneId !== undefined && zoneName !== undefined) {
    new ARecord(scope, 'AliasRecord', {
      zone: HostedZone.fromHostedZoneAttributes(scope, 'Zone', { hostedZoneId, zoneName }),
      recordName: `${domainName}.`,
      target: RecordTarget.fromAlias(
        new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
      ),
    });
  }
  new CfnOutput(Stack.of(scope), 'DomainTarget', {
    value: domain.regionalDomainName,
    description: 'Target for the DNS record of the custom domain, if the stack does not create the record',
  });
  return `https://${domainName}${basePath === undefined ? '' : `/${basePath}`}`;
};
