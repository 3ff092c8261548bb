import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import { CfnStage, HttpApi, HttpMethod, HttpStage, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { type EndpointName, endpointNames, endpoints } from '../shared/contracts/endpoints.ts';
import type { EnvironmentOf } from '../shared/environment.ts';
import { CustomDomain, hasDomain } from './custom-domain.ts';
import type { Delivery } from './delivery.ts';
import { ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';

/** The HTTP API: a route and a function for each endpoint of the table, and one that answers for all the rest. */
export class Api extends Construct {
  /** The address of the API, without a slash at its end. */
  readonly baseUrl: string;
  readonly httpApi: HttpApi;
  /** The function of each endpoint. */
  readonly functions: ReadonlyMap<EndpointName, LambdaFunction>;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, storage: Storage, delivery: Delivery) {
    super(scope, id);
    const { settings } = defaults;
    const unknownRoute = new ServiceFunction(this, 'handle-unknown-route', defaults, new ResourceAccess({}));
    const api = new HttpApi(this, 'HttpApi', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      defaultIntegration: new HttpLambdaIntegration('handle-unknown-route', unknownRoute.lambda),
    });

    this.httpApi = api;

    const accesses = this.#accesses(defaults, storage, delivery);
    const functions = new Map<EndpointName, LambdaFunction>();
    const routes = endpointNames.flatMap((name) => {
      const { lambda } = new ServiceFunction(this, name, defaults, accesses[name]);
      functions.set(name, lambda);
      const { method, path } = endpoints[name];
      const integration = new HttpLambdaIntegration(name, lambda);
      return api.addRoutes({ path, methods: [HttpMethod[method]], integration });
    });

    this.functions = functions;

    const stage = new HttpStage(this, 'Stage', {
      httpApi: api,
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
      const { testRequestsPerSecond: limit } = settings;
      stage.node.defaultChild.routeSettings = Object.fromEntries(
        endpointNames
          .map((name) => endpoints[name])
          .filter(({ permission }) => permission === 'test')
          .map(({ method, path }) => [
            `${method} ${path}`,
            { ThrottlingRateLimit: limit, ThrottlingBurstLimit: limit },
          ]),
      );
      // Settings of a route are refused before the route is there.
      stage.node.addDependency(...routes);
    }
    this.baseUrl = hasDomain(settings)
      ? new CustomDomain(this, 'Domain', settings, api, stage).baseUrl
      : api.apiEndpoint;
  }

  /** What each endpoint's function needs: an endpoint that is missing here does not compile. */
  #accesses({ settings }: FunctionDefaults, { notifications, tokens, accounts }: Storage, delivery: Delivery) {
    const caller = tokens
      .access('GetItem')
      .and(new ResourceAccess({ TOKEN_CACHE_SECONDS: String(settings.tokenCacheSeconds) }));
    const links = new ResourceAccess({ LINK_SCHEME: settings.linkScheme });
    // A write of a large notification, and the cleanup beside it.
    const writing = ['GetItem', 'PutItem', 'DeleteItem', 'BatchWriteItem', 'Query'] as const;
    const testing = caller
      .and(accounts.access('UpdateItem'))
      .and(new ResourceAccess({ TESTS_PER_TENANT_PER_DAY: String(settings.testsPerTenantPerDay) }))
      .and(delivery.testing());
    return {
      'create-notification': caller
        .and(notifications.access('UpdateItem', ...writing))
        .and(new ResourceAccess({ NOTIFICATIONS_PER_TENANT: String(settings.notificationsPerTenant) }))
        .and(links),
      'list-notifications': caller.and(notifications.access('GetItem', 'BatchGetItem', 'Query')).and(links),
      'get-notification': caller.and(notifications.access('GetItem', 'BatchGetItem')),
      'update-notification': caller.and(notifications.access('BatchGetItem', ...writing)).and(links),
      'delete-notification': caller.and(notifications.access('UpdateItem', ...writing)),
      'test-notification': testing.and(notifications.access('BatchGetItem')),
      'test-new-notification': testing,
      'list-notification-types': caller.and(links),
      'get-notification-type': caller,
    } satisfies { [Name in EndpointName]: ResourceAccess<EnvironmentOf<Name>> };
  }
}

/** Ids, route and outcome of each request; never a header, a query or a body. */
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
