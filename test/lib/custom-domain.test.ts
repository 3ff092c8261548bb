import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { allSettings } from '../support/settings.ts';
import { synthesize } from '../support/stack.ts';

const { domainName = '', certificateArn = '' } = allSettings;

describe('a custom domain', () => {
  it('keeps the default endpoint of the API enabled', () => {
    const { template } = synthesize({ domainName, certificateArn });
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: Match.absent() });
  });

  it('maps the base path to the API, and has an alias record in the hosted zone', () => {
    const { template } = synthesize(allSettings);
    template.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: domainName,
      DomainNameConfigurations: [{ CertificateArn: certificateArn, EndpointType: 'REGIONAL' }],
    });
    template.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', { ApiMappingKey: 'v1.0/123456' });
    template.hasResourceProperties('AWS::Route53::RecordSet', {
      Name: 'api.example.org.',
      Type: 'A',
      HostedZoneId: 'Z0123456789ABC',
      AliasTarget: { DNSName: { 'Fn::GetAtt': [Match.stringLikeRegexp('^ApiCustomDomain'), 'RegionalDomainName'] } },
    });
    template.hasOutput('BaseUrl', { Value: 'https://api.example.org/v1.0/123456' });
  });

  it('maps the root to the API without basePath, and has an output for the DNS record without a hosted zone', () => {
    const { template } = synthesize({ domainName, certificateArn });
    template.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', { ApiMappingKey: Match.absent() });
    template.hasOutput('BaseUrl', { Value: 'https://api.example.org' });
    template.resourceCountIs('AWS::Route53::RecordSet', 0);
    expect(template.findOutputs('DomainTarget')).not.toEqual({});
  });
});
