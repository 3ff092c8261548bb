import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { everySetting } from '../support/settings.ts';
import { synthesized } from '../support/stack.ts';

const { domainName = '', certificateArn = '' } = everySetting;

describe("a domain of one's own", () => {
  it('is not there by default', () => {
    const { template } = synthesized();
    for (const type of ['DomainName', 'ApiMapping']) template.resourceCountIs(`AWS::ApiGatewayV2::${type}`, 0);
    template.resourceCountIs('AWS::Route53::RecordSet', 0);
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: Match.absent() });
  });

  it('leaves the generated endpoint of the API enabled', () => {
    const { template } = synthesized({ domainName, certificateArn });
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: Match.absent() });
  });

  it('serves the API below the path, with its certificate, and an alias record where its zone is given', () => {
    const { template } = synthesized(everySetting);
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

  it('serves the API at its root without a path, and leaves its record to others without a zone', () => {
    const { template } = synthesized({ domainName, certificateArn });
    template.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', { ApiMappingKey: Match.absent() });
    template.hasOutput('BaseUrl', { Value: 'https://api.example.org' });
    template.resourceCountIs('AWS::Route53::RecordSet', 0);
    expect(template.findOutputs('DomainTarget')).not.toEqual({});
  });
});
