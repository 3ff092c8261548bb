import { newAlarmEvent } from '../../support/events.ts';
import type { Attacker } from '../attacker.ts';

const ALERTS = 300;
/** Emails per second that SES usually accepts from an account. */
const SENDING_RATE = 14;

export const manyEmails: Attacker = {
  name: 'many-emails',
  description: 'with 300 emails at once, while SES accepts 14 per second, which is that of a neighbor by email',
  isHanging: false,
  neighbor: 'email',
  everyMs: 60_000,
  async prepare({ newClient, limitEmails, sendEvent }) {
    const client = await newClient();
    const details = { address: 'many@example.com' };
    const id = await client.create({ label: 'email', type: 'email', details });
    return () => {
      limitEmails(SENDING_RATE);
      return Promise.all(Array.from({ length: ALERTS }, () => sendEvent(newAlarmEvent(client.tenant, [id]))));
    };
  },
};
