import { CfnOutput, Stack } from 'aws-cdk-lib';
import { ApiMapping, DomainName, type HttpApi, type HttpStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/** Settings with a custom domain and its certificate. */
export type DomainSettings = Settings & { domainName: string; certificateArn: string };

/** Returns whether the settings give the API a custom domain. */
export const hasDomain = (settings: Settings): settings is DomainSettings =>
  settings.domainName !== undefined && settings.certificateArn !== undefined;

/**
 * The custom domain of the API, with an optional base path. The settings name the hosted zone by ID and name, so
 * synthesis needs no lookups.
 */
export class CustomDomain extends Construct {
  /** The URL of the API, without a trailing slash. */
  readonly baseUrl: string;

  constructor(scope: Construct, id: string, settings: DomainSettings, api: HttpApi, stage: HttpStage) {
    super(scope, id);
    const { domainName, certificateArn, hostedZoneId, hostedZoneName: zoneName, basePath } = settings;
    const domain = new DomainName(this, 'DomainName', {
      domainName,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
    });
    new ApiMapping(this, 'ApiMapping', {
      api,
      domainName: domain,
      stage,
      ...(basePath !== undefined && { apiMappingKey: basePath }),
    });
    if (hostedZoneId !== undefined && zoneName !== undefined) {
      new ARecord(this, 'AliasRecord', {
        zone: HostedZone.fromHostedZoneAttributes(this, 'Zone', { hostedZoneId, zoneName }),
        recordName: `${domainName}.`,
        target: RecordTarget.fromAlias(
          new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
        ),
      });
    }
    new CfnOutput(Stack.of(this), 'DomainTarget', {
      value: domain.regionalDomainName,
      description: 'Target for the DNS record of the custom domain, if the stack does not create the record',
    });
    this.baseUrl = `https://${domainName}${basePath === undefined ? '' : `/${basePath}`}`;
  }
}
