import { CfnOutput, Stack } from 'aws-cdk-lib';
import { ApiMapping, DomainName, type HttpApi, type HttpStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/** The settings of a domain of one's own, which come together. */
export type DomainSettings = Settings & { domainName: string; certificateArn: string };

/** Whether the API is to have a domain of its own. */
export const hasDomain = (settings: Settings): settings is DomainSettings =>
  settings.domainName !== undefined && settings.certificateArn !== undefined;

/** A domain of one's own for the API, below a path where one is set. Its zone is given by id and name: synth looks nothing up. */
export class CustomDomain extends Construct {
  /** The address of the API, without a slash at its end. */
  readonly baseUrl: string;

  constructor(scope: Construct, id: string, settings: DomainSettings, api: HttpApi, stage: HttpStage) {
    super(scope, id);
    const { domainName, certificateArn, hostedZoneId, hostedZoneName: zoneName, basePath } = settings;
    const domain = new DomainName(this, 'DomainName', {
      domainName,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
    });
    new ApiMapping(this, 'Mapping', {
      api,
      domainName: domain,
      stage,
      ...(basePath !== undefined && { apiMappingKey: basePath }),
    });
    if (hostedZoneId !== undefined && zoneName !== undefined) {
      new ARecord(this, 'Alias', {
        zone: HostedZone.fromHostedZoneAttributes(this, 'Zone', { hostedZoneId, zoneName }),
        recordName: `${domainName}.`,
        target: RecordTarget.fromAlias(
          new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
        ),
      });
    }
    new CfnOutput(Stack.of(this), 'DomainTarget', {
      value: domain.regionalDomainName,
      description: 'What the record of the domain must point to, where the stack does not make it',
    });
    this.baseUrl = `https://${domainName}${basePath === undefined ? '' : `/${basePath}`}`;
  }
}
