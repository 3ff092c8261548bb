import { CfnOutput, Stack } from 'aws-cdk-lib';
import { ApiMapping, DomainName, type HttpApi, type HttpStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

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
