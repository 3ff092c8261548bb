import { SESClient, SendRawEmailCommand } from '@aws-sdk/client-ses';
import { type RawEmailParts, rawEmail } from '../domain/raw-email.ts';
import { onceConfig } from './aws-client.ts';

export type OutgoingEmail = RawEmailParts & {
  configurationSet: string;
  /** Message tags, which SES repeats in its events about the email. */
  tags: Readonly<Record<string, string>>;
};

/** Without SDK retries: SES doesn't support idempotency tokens (docs/decisions/outbound.md#aws-clients). */
export const createSesClient = (client: SESClient = new SESClient(onceConfig())) => ({
  sendEmail: async ({ configurationSet, tags, ...parts }: OutgoingEmail, timeoutMs: number): Promise<void> => {
    await client.send(
      new SendRawEmailCommand({
        Source: parts.from,
        Destinations: [parts.to],
        RawMessage: { Data: Buffer.from(rawEmail(parts)) },
        ConfigurationSetName: configurationSet,
        Tags: Object.entries(tags).map(([Name, Value]) => ({ Name, Value })),
      }),
      { requestTimeout: timeoutMs },
    );
  },
});
