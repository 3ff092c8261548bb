import { emailEvents, type Mail } from 'local-aws/ses-events.ts';
import { emailTags } from '../../shared/domain/email-event.ts';

/** Returns the email of a delivery as SES events have it. */
export const sesMail = (
  event: Parameters<typeof emailTags>[0],
  notificationId: string,
  mail: Partial<Mail> = {},
): Mail => {
  const tags = Object.entries(emailTags(event, notificationId)).map(([name, value]) => [name, [value]]);
  return {
    timestamp: new Date().toISOString(),
    messageId: 'message-1',
    destination: ['recipient@example.com'],
    tags: Object.fromEntries(tags),
    ...mail,
  };
};

/** Returns the message that SNS sends to the queue of email events if the email of a delivery bounces permanently. */
export const bounceBody = (...mail: Parameters<typeof sesMail>): string => {
  const bounced = sesMail(...mail);
  return JSON.stringify(emailEvents.bounce(bounced, bounced.timestamp));
};
