import { describe, expect, it, vi } from 'vitest';
import { recipientHash } from '../../../shared/domain/delivery-key.ts';
import { emailTags, tenantTag } from '../../../shared/domain/email-event.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import type { Alert } from '../../../shared/domain/transport.ts';
import type { DailyLimit } from '../../../shared/pipeline/daily-limit.ts';
import { createEmailTransport } from '../../../shared/pipeline/transports/email.ts';
import { alert } from '../../support/alert.ts';
import { alarmEvent, EVENT_TIME_MS } from '../../support/events.ts';
import { startHttp } from '../../support/servers.ts';

const environment = {
  EMAIL_FROM: 'notifications@example.com',
  EMAIL_REPLY_TO: undefined,
  CONFIGURATION_SET: 'notifications',
};

/** Sends an email to a local SES endpoint. @returns the request */
const requestOf = async (changes: Partial<Alert> = {}, clock = Date.now, timeZone = 'UTC') => {
  let form = new URLSearchParams();
  const { url } = await startHttp(async (request, response) => {
    form = new URLSearchParams((await request.toArray()).join(''));
    response.end('<SendEmailResponse><SendEmailResult><MessageId>m</MessageId></SendEmailResult></SendEmailResponse>');
  });
  vi.stubEnv('AWS_ENDPOINT_URL', url().href);
  vi.stubEnv('AWS_REGION', 'local-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
  const unlimited: DailyLimit = (_, send) => send();
  const limits = { alerts: unlimited, notices: unlimited, summaries: unlimited };
  const transport = createEmailTransport(environment, limits, { timeZone: async () => timeZone }, clock);
  const outcome = await transport({ ...alert, ...changes }, { address: 'a@example.com' });
  vi.unstubAllEnvs();
  expect(outcome).toMatchObject({
    result: 'delivered',
    reachedRecipientHashes: [recipientHash(alert.deliveryId, 'a@example.com')],
  });
  return form;
};

it('an email about an alert that SQS accepted seven minutes ago says so after its state', async () => {
  const acceptedAtMs = EVENT_TIME_MS;
  const form = await requestOf({ acceptedAtMs }, () => acceptedAtMs + 7 * 60_000 + 59_000);
  expect(form.get('Message.Subject.Data')).toBe('[CRITICAL] (delayed by 7 minutes) web-1: Disk space');
});

it('an email has its times in the time zone of the account', async () => {
  const form = await requestOf({}, () => EVENT_TIME_MS, 'Europe/Berlin');
  expect(form.get('Message.Body.Text.Data')).toContain('Since: 2023-11-14 23:13:20 UTC+01:00');
});

describe('the tags of an email', () => {
  const tagsSent = async (notificationId?: string) => {
    const form = await requestOf(notificationId === undefined ? {} : { notificationId });
    const tag = (part: 'Name' | 'Value') =>
      [...form].filter(([name]) => name.startsWith('Tags.') && name.endsWith(part)).map(([, value]) => value);
    const values = tag('Value');
    return Object.fromEntries(tag('Name').map((name, index) => [name, values[index]]));
  };

  it('identify its delivery, which stores a hash of the recipient', async () => {
    const id = newNotificationId();
    expect(await tagsSent(id)).toEqual(emailTags(alarmEvent(), id));
  });

  it('name only the tenant for a test', async () => {
    expect(await tagsSent()).toEqual({ tenant: tenantTag(alarmEvent().tenant_id) });
  });
});
