import { CfnOutput, Stack } from 'aws-cdk-lib';
import { Identity, EmailIdentity as SesEmailIdentity } from 'aws-cdk-lib/aws-ses';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/**
 * The SES identity of the sender's domain (setting `emailIdentity`). SES verifies it once DNS contains the records
 * in the outputs.
 */
export class EmailIdentity extends Construct {
  constructor(scope: Construct, id: string, { emailFrom }: Settings) {
    super(scope, id);
    const domain = emailFrom.slice(emailFrom.lastIndexOf('@') + 1);
    const { dkimRecords } = new SesEmailIdentity(this, 'Identity', { identity: Identity.domain(domain) });
    dkimRecords.forEach(({ name, value }, index) => {
      new CfnOutput(Stack.of(this), `DkimRecord${index + 1}`, {
        value: `${name} CNAME ${value}`,
        description: `DKIM record ${index + 1} of 3. Add all three to the DNS of ${domain} so that SES can verify it.`,
      });
    });
  }
}
