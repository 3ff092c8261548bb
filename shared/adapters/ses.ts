import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { onceConfig } from './aws-client.ts';

/** An email to one recipient. */
export type OutgoingEmail = {
  from: string;
  replyTo?: string | undefined;
  to: string;
  subject: string;
  text: string;
  html: string;
  configurationSet: string;
  /** Message tags, which SES repeats in its events about the email. */
  tags: Readonly<Record<string, string>>;
};

const utf8 = (Data: string) => ({ Data, Charset: 'UTF-8' });

/**
 * Creates the SES client of the email transports, without SDK retries, because SES doesn't support idempotency tokens
 * (docs/decisions/outbound.md#aws-clients). `sendEmail` throws the errors of the SDK.
 */
export const createSesClient = (client: SESClient = new SESClient(onceConfig())) => ({
  sendEmail: async (email: OutgoingEmail, timeoutMs: number): Promise<void> => {
    const { from, replyTo, to, subject, text, html, configurationSet, tags } = email;
    await client.send(
      new SendEmailCommand({
        Source: from,
        ...(replyTo && { ReplyToAddresses: [replyTo] }),
        ConfigurationSetName: configurationSet,
        Destination: { ToAddresses: [to] },
        Message: { Subject: utf8(subject), Body: { Text: utf8(text), Html: utf8(html) } },
        Tags: Object.entries(tags).map(([Name, Value]) => ({ Name, Value })),
      }),
      { requestTimeout: timeoutMs },
    );
  },
});
