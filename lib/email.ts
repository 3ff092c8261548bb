import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { ConfigurationSet, EmailIdentity, Identity } from 'aws-cdk-lib/aws-ses';
import { Construct } from 'constructs';
import { allow } from './resource-access.ts';
import type { Settings } from './settings.ts';

/**
 * The SES configuration set and the sender address of the service's emails (docs/decisions/formats.md#email-delivery).
 */
export class Email extends Construct {
  readonly configurationSet: ConfigurationSet;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.configurationSet = new ConfigurationSet(this, 'ConfigurationSet', {
      reputationMetrics: true,
      // The list of the account would silence an address for all tenants after a bounce or complaint of one.
      disableSuppressionList: true,
    });
  }

  /**
   * Allows to send from this address only. A condition says so, because SES may authorize against the identity of the
   * address, its domain or a parent domain.
   */
  allowSend(emailFrom: string): PolicyStatement {
    const stack = Stack.of(this);
    const { configurationSetName } = this.configurationSet;
    return allow(
      ['ses:SendRawEmail'],
      [
        stack.formatArn({ service: 'ses', resource: 'identity', resourceName: '*' }),
        stack.formatArn({ service: 'ses', resource: 'configuration-set', resourceName: configurationSetName }),
      ],
      { StringEquals: { 'ses:FromAddress': emailFrom } },
    );
  }
}

/**
 * Adds the SES identity of the sender's domain (setting `emailIdentity`). SES verifies it once DNS contains the records
 * in the outputs.
 */
export const addEmailIdentity = (stack: Stack, { emailFrom }: Settings): void => {
  const domain = emailFrom.slice(emailFrom.lastIndexOf('@') + 1);
  const scope = new Construct(stack, 'EmailIdentity');
  const { dkimRecords } = new EmailIdentity(scope, 'Identity', { identity: Identity.domain(domain) });
  dkimRecords.forEach(({ name, value }, index) => {
    new CfnOutput(stack, `DkimRecord${index + 1}`, {
      value: `${name} CNAME ${value}`,
      description: `DKIM record ${index + 1} of 3. Add all three to the DNS of ${domain} so that SES can verify it.`,
    });
  });
};
