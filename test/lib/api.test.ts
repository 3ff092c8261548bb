import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { endpointNames } from '../../shared/contracts/endpoints.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const { template, functionIds } = synthesize({ apiRequestsPerSecond: '300', testRequestsPerSecond: '7' });

const routes = propertiesOf(template, 'AWS::ApiGatewayV2::Route', z.object({ RouteKey: z.string() }));

describe('the API', () => {
  it('allows only API Gateway to invoke its functions, and only for this API', () => {
    const permissions = [
      ...propertiesOf(
        template,
        'AWS::Lambda::Permission',
        z.object({ FunctionName: reference, Principal: z.string(), SourceArn: z.unknown() }),
      ).values(),
    ];
    const invoked = permissions.map(({ FunctionName }) => FunctionName);
    const expected = [...endpointNames, 'handle-unknown-route', ...Array(4).fill('opt-out')].map((name) =>
      functionIds.get(name),
    );
    expect(invoked.toSorted()).toEqual(expected.toSorted());
    for (const { Principal, SourceArn } of permissions) {
      expect(Principal).toBe('apigateway.amazonaws.com');
      expect(JSON.stringify(SourceArn)).toContain('ApiHttpApi');
    }
  });

  it('throttles requests, and test operations and the public page further, to leave concurrency for the senders', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 300, ThrottlingBurstLimit: 300 },
      RouteSettings: {
        'POST /test-notification': { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 7 },
        'POST /notifications/{notificationId}/test': { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 7 },
        'GET /opt-out': { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 20 },
        'POST /opt-out': { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 20 },
        'GET /opt-out/undo': { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 20 },
        'POST /opt-out/undo': { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 20 },
      },
    });
  });

  it('creates its stage after the routes that have throttling settings', () => {
    const throttled = [...routes].filter(([, { RouteKey }]) => /test|opt-out/.test(RouteKey)).map(([id]) => id);
    expect(throttled).toHaveLength(6);
    for (const id of throttled) template.hasResource('AWS::ApiGatewayV2::Stage', { DependsOn: Match.arrayWith([id]) });
  });

  it('logs requests without headers, query strings or bodies', () => {
    const [{ AccessLogSettings: log } = {}] = propertiesOf(
      template,
      'AWS::ApiGatewayV2::Stage',
      z.object({ AccessLogSettings: z.object({ Format: z.string(), DestinationArn: reference }) }),
    ).values();
    expect(Object.values(JSON.parse(log?.Format ?? '{}')).toSorted()).toEqual([
      '$context.integrationStatus',
      '$context.requestId',
      '$context.requestTimeEpoch',
      '$context.responseLatency',
      '$context.responseLength',
      '$context.routeKey',
      '$context.status',
    ]);
    const groups = propertiesOf(template, 'AWS::Logs::LogGroup', z.object({ RetentionInDays: z.number() }));
    expect(groups.get(log?.DestinationArn ?? '')?.RetentionInDays).toBe(30);
  });
});
