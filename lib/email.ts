import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { ConfigurationSet } from 'aws-cdk-lib/aws-ses';
import { Construct } from 'constructs';
import { ResourceAccess } from './resource-access.ts';
import type { Settings } from './settings.ts';

/**
 * The SES configuration set and the sender address of the service's emails (docs/decisions/formats.md#email-delivery).
 */
export class Email extends Construct {
  readonly configurationSet: ConfigurationSet;
  readonly #settings: Settings;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.#settings = settings;
    this.configurationSet = new ConfigurationSet(this, 'ConfigurationSet', { reputationMetrics: true });
  }

  /**
   * Grants permission to send email from the configured sender address only. A condition restricts the address, because
   * SES may authorize against the identity of the address, its domain or a parent domain.
   */
  sendAccess(): ResourceAccess<{ EMAIL_FROM: string; EMAIL_REPLY_TO?: string; CONFIGURATION_SET: string }> {
    const { emailFrom, emailReplyTo } = this.#settings;
    const stack = Stack.of(this);
    const { configurationSetName } = this.configurationSet;
    const statement = new PolicyStatement({
      actions: ['ses:SendEmail'],
      resources: [
        stack.formatArn({ service: 'ses', resource: 'identity', resourceName: '*' }),
        stack.formatArn({ service: 'ses', resource: 'configuration-set', resourceName: configurationSetName }),
      ],
      conditions: { StringEquals: { 'ses:FromAddress': emailFrom } },
    });
    return new ResourceAccess(
      {
        EMAIL_FROM: emailFrom,
        ...(emailReplyTo !== undefined && { EMAIL_REPLY_TO: emailReplyTo }),
        CONFIGURATION_SET: configurationSetName,
      },
      [statement],
    );
  }
}
