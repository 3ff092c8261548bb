import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { propertiesOf, reference, synthesized } from '../support/stack.ts';

const { template, functionIds } = synthesized({ apiRequestsPerSecond: '300', testRequestsPerSecond: '7' });

const TARGET = z
  .object({ 'Fn::Join': z.tuple([z.literal(''), z.tuple([z.literal('integrations/'), reference])]) })
  .transform((join) => join['Fn::Join'][1][1]);

const routes = propertiesOf(template, 'AWS::ApiGatewayV2::Route', z.object({ RouteKey: z.string(), Target: TARGET }));
const integrations = propertiesOf(
  template,
  'AWS::ApiGatewayV2::Integration',
  z.object({ IntegrationType: z.string(), IntegrationUri: reference, PayloadFormatVersion: z.string() }),
);

/** The name of the function that answers each route. */
const answering = Object.fromEntries(
  [...routes.values()].map(({ RouteKey, Target }) => {
    const uri = integrations.get(Target)?.IntegrationUri;
    return [RouteKey, [...functionIds].find(([, id]) => id === uri)?.[0]];
  }),
);

describe('the API', () => {
  it('has one route for each endpoint of the table, answered by the function of its name', () => {
    const expected = endpointNames.map((name) => [`${endpoints[name].method} ${endpoints[name].path}`, name]);
    expect(answering).toEqual({ ...Object.fromEntries(expected), $default: 'handle-unknown-route' });
  });

  it('is an HTTP API that hands requests to functions in payload format 2.0', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP' });
    for (const { IntegrationType, PayloadFormatVersion } of integrations.values()) {
      expect({ IntegrationType, PayloadFormatVersion }).toEqual({
        IntegrationType: 'AWS_PROXY',
        PayloadFormatVersion: '2.0',
      });
    }
  });

  it('lets the gateway alone invoke each of its functions, for this API alone', () => {
    const permissions = [
      ...propertiesOf(
        template,
        'AWS::Lambda::Permission',
        z.object({ FunctionName: reference, Principal: z.string(), SourceArn: z.unknown() }),
      ).values(),
    ];
    const invoked = permissions.map(({ FunctionName }) => FunctionName);
    const expected = [...endpointNames, 'handle-unknown-route'].map((name) => functionIds.get(name));
    expect(invoked.toSorted()).toEqual(expected.toSorted());
    for (const { Principal, SourceArn } of permissions) {
      expect(Principal).toBe('apigateway.amazonaws.com');
      expect(JSON.stringify(SourceArn)).toContain('ApiHttpApi');
    }
  });

  it('limits requests, and tests more, so that it cannot take the concurrency of the senders', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 300, ThrottlingBurstLimit: 300 },
      RouteSettings: {
        'POST /test-notification': { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 7 },
        'POST /notifications/{notificationId}/test': { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 7 },
      },
    });
  });

  it('makes its stage after the routes that the stage has settings for', () => {
    const tested = [...routes].filter(([, { RouteKey }]) => /test/.test(RouteKey)).map(([id]) => id);
    expect(tested).toHaveLength(2);
    template.hasResource('AWS::ApiGatewayV2::Stage', {
      DependsOn: Match.arrayWith(tested.toSorted()),
    });
  });

  it('writes a line for each request that holds no header, query or body', () => {
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
