import { describe, expect, it, vi } from 'vitest';
import { recipientHash } from '../../../shared/domain/delivery-key.ts';
import { emailTags } from '../../../shared/domain/email-event.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import type { DailyLimit } from '../../../shared/pipeline/daily-limit.ts';
import { createEmailTransport } from '../../../shared/pipeline/transports/email.ts';
import { alert } from '../../support/alert.ts';
import { alarmEvent } from '../../support/events.ts';
import { startHttp } from '../../support/servers.ts';

describe('the tags of an email', () => {
  const environment = {
    EMAIL_FROM: 'notifications@example.com',
    EMAIL_REPLY_TO: undefined,
    CONFIGURATION_SET: 'notifications',
  };

  /** Sends an email to a local SES endpoint. @returns the tags in the request */
  const tagsSent = async (notificationId?: string) => {
    let form = new URLSearchParams();
    const { url } = await startHttp(async (request, response) => {
      form = new URLSearchParams((await request.toArray()).join(''));
      response.end(
        '<SendEmailResponse><SendEmailResult><MessageId>m</MessageId></SendEmailResult></SendEmailResponse>',
      );
    });
    vi.stubEnv('AWS_ENDPOINT_URL', url().href);
    vi.stubEnv('AWS_REGION', 'local-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
    const unlimited: DailyLimit = (_, send) => send();
    const limits = { alerts: unlimited, notices: unlimited, summaries: unlimited };
    const transport = createEmailTransport(environment, limits);
    const outcome = await transport(
      { ...alert, ...(notificationId !== undefined && { notificationId }) },
      { address: 'a@example.com' },
    );
    vi.unstubAllEnvs();
    expect(outcome).toMatchObject({
      result: 'delivered',
      reachedRecipientHashes: [recipientHash(alert.deliveryId, 'a@example.com')],
    });
    const tag = (part: 'Name' | 'Value') =>
      [...form].filter(([name]) => name.startsWith('Tags.') && name.endsWith(part)).map(([, value]) => value);
    const values = tag('Value');
    return Object.fromEntries(tag('Name').map((name, index) => [name, values[index]]));
  };

  it('identify its delivery, which stores a hash of the recipient', async () => {
    const id = newNotificationId();
    expect(await tagsSent(id)).toEqual(emailTags(alarmEvent(), id));
  });

  it('are absent for a test', async () => {
    expect(await tagsSent()).toEqual({});
  });
});
