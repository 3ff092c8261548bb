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
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import { type EndpointName, endpointNames, endpoints, OPT_OUT_PATH } from '../shared/contracts/endpoints.ts';
import type { EnvironmentOf } from '../shared/environment.ts';
import type { Delivery } from './delivery.ts';
import { ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import { egressOf, type Settings, tenantLimitsOf } from './settings.ts';
import type { Storage } from './storage.ts';

/**
 * How often clients can request a route of the public page, which needs no token, per second. API Gateway aims at its
 * throttles, and may let more requests pass.
 */
const PAGE_REQUESTS_PER_SECOND = 20;

const pageMethods = [HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST];

/** How often all tenants together can search deliveries, per second: a request may cost 281 read units. */
const SEARCHES_PER_SECOND = 10;

const routeOf = (name: EndpointName): string => `${endpoints[name].method} ${endpoints[name].path}`;

/**
 * The HTTP API: a route and a function for each operation in `endpoints`, the public page of opt-outs, and a default
 * route.
 */
export class Api extends Construct {
  /** The URL of the API, without a trailing slash. */
  readonly baseUrl: string;
  readonly httpApi: HttpApi;
  readonly functions: ReadonlyMap<EndpointName, LambdaFunction>;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, storage: Storage, delivery: Delivery) {
    super(scope, id);
    const { settings } = defaults;
    const unknownRoute = new ServiceFunction(this, 'handle-unknown-route', defaults, new ResourceAccess({}));
    const httpApi = new HttpApi(this, 'HttpApi', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      defaultIntegration: new HttpLambdaIntegration('handle-unknown-route', unknownRoute.lambda),
    });
    this.httpApi = httpApi;
    const access = this.#access(defaults, storage, delivery);
    this.functions = new Map(
      endpointNames.map((name) => [name, new ServiceFunction(this, name, defaults, access[name]).lambda]),
    );
    const routes = [...this.functions].flatMap(([name, lambda]) => {
      const { method, path } = endpoints[name];
      const integration = new HttpLambdaIntegration(name, lambda);
      return httpApi.addRoutes({ path, methods: [HttpMethod[method]], integration });
    });
    const page = new ServiceFunction(
      this,
      'opt-out',
      defaults,
      pageAccess(settings, storage).and(delivery.reports.sendAccess()),
    );
    const pageIntegration = new HttpLambdaIntegration('opt-out', page.lambda);
    routes.push(...httpApi.addRoutes({ path: OPT_OUT_PATH, methods: pageMethods, integration: pageIntegration }));
    const stage = new HttpStage(this, 'Stage', {
      httpApi,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: settings.apiRequestsPerSecond, burstLimit: settings.apiRequestsPerSecond },
      accessLogSettings: {
        destination: new LogGroupLogDestination(
          new LogGroup(this, 'AccessLogs', {
            retention: settings.logRetentionDays,
            removalPolicy: RemovalPolicy.DESTROY,
          }),
        ),
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

  /** Returns the access of each endpoint's function. The compiler requires an entry for every endpoint. */
  #access(
    { settings }: FunctionDefaults,
    { notifications, tokens, accounts, deliveries, audits }: Storage,
    delivery: Delivery,
  ) {
    const caller = tokens
      .access('GetItem')
      .and(new ResourceAccess({ TOKEN_CACHE_SECONDS: String(settings.tokenCacheSeconds) }));
    const links = new ResourceAccess({ LINK_SCHEME: settings.linkScheme });
    const audited = auditAccess(settings, audits);
    // A write may store a notification in chunks and delete obsolete ones
    // (docs/decisions/storage.md#large-notifications).
    const writeActions = ['GetItem', 'BatchWriteItem'] as const;
    const changeNotification = caller
      .and(notifications.access('PutItem', 'BatchGetItem', ...writeActions))
      .and(audited);
    const limits = accounts.access('GetItem').and(tenantLimitsOf(settings));
    const testAccess = caller.and(audited).and(accounts.access('UpdateItem')).and(limits).and(delivery.testAccess());
    return {
      'create-notification': caller
        .and(notifications.access('PutItem', 'UpdateItem', 'BatchGetItem', ...writeActions))
        .and(limits)
        .and(links)
        .and(audited)
        .and(egressOf(settings)),
      'list-notifications': caller.and(notifications.access('GetItem', 'BatchGetItem', 'Query')).and(links),
      'get-notification': caller.and(notifications.access('GetItem', 'BatchGetItem')).and(accounts.access('GetItem')),
      'update-notification': changeNotification.and(links).and(egressOf(settings)),
      'delete-notification': caller.and(notifications.access('DeleteItem', 'UpdateItem', ...writeActions)).and(audited),
      'test-notification': testAccess.and(notifications.access('BatchGetItem')),
      'test-new-notification': testAccess,
      'list-notification-types': caller.and(links),
      'get-notification-type': caller,
      'list-deliveries': caller
        .and(notifications.access('GetItem'))
        .and(deliveries.access('Query', 'BatchGetItem'))
        .and(links),
      'search-deliveries': caller
        .and(notifications.access('Query'))
        .and(deliveries.access('GetItem', 'BatchGetItem', 'Query'))
        .and(links),
      'list-failures': caller.and(notifications.access('BatchGetItem')).and(deliveries.access('Query')).and(links),
      'create-signing-secret': changeNotification,
      'delete-signing-secret': changeNotification,
      redeliver: caller
        .and(notifications.access('BatchGetItem'))
        .and(deliveries.access('Query', 'BatchGetItem', 'BatchWriteItem', 'UpdateItem'))
        .and(accounts.access('UpdateItem'))
        .and(audited)
        .and(limits)
        .and(delivery.sendAccess()),
      'get-account': caller
        .and(accounts.access('UpdateItem', 'BatchGetItem'))
        .and(notifications.access('GetItem', 'BatchGetItem'))
        .and(limits),
      'update-account': caller
        .and(accounts.access('GetItem', 'UpdateItem'))
        .and(notifications.access('GetItem'))
        .and(audited),
      'rotate-signing-secret': caller.and(accounts.access('GetItem', 'UpdateItem')).and(audited),
      'list-tokens': caller.and(links),
      'create-token': caller.and(tokens.access('PutItem')).and(audited),
      'revoke-token': caller.and(tokens.access('PutItem', 'DeleteItem')).and(audited),
      'list-audits': caller.and(links).and(audits.access('Query')),
    } satisfies { [Name in EndpointName]: ResourceAccess<EnvironmentOf<Name>> };
  }
}

/** Returns the access of the public page: to stops of emails, not to notifications. */
const pageAccess = (settings: Settings, { accounts, audits }: Storage) =>
  accounts.access('GetItem', 'UpdateItem').and(auditAccess(settings, audits));

/** Returns the access to write audit entries. */
const auditAccess = ({ auditRetentionDays }: Settings, audits: Storage['audits']) =>
  audits.access('PutItem').and(new ResourceAccess({ AUDIT_RETENTION_DAYS: String(auditRetentionDays) }));

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
 * Adds the custom domain of the API, with an optional base path, if the settings have one. They name the hosted zone by
 * ID and name, so synthesis needs no lookups.
 *
 * @returns the URL of the API in this domain, without a trailing slash
 */
export const addCustomDomain = (
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
