import { createEmailSender, type EmailSenderDependencies } from '../../shared/pipeline/email-sender.ts';

/** The key of the opt-out links of a stack. */
export const OPT_OUT_KEY = Buffer.alloc(32, 1);

export const optOutKeys = { current: async () => OPT_OUT_KEY };

/** The stops of a stack without stops. */
export const noStops = {
  find: async () => undefined,
  claimTest: async () => undefined,
  giveBackTest: async () => undefined,
  bounce: async () => undefined,
};

/** The accounts of a stack whose emails are on. */
export const emailOn = { isEmailOff: async () => false };

/** Creates the sender of emails of a stack without stops, limits and a sending rate, except for the changes. */
export const emailSender = (changes: Partial<EmailSenderDependencies> = {}) =>
  createEmailSender(
    {
      EMAIL_FROM: 'notifications@example.com',
      EMAIL_REPLY_TO: undefined,
      CONFIGURATION_SET: 'notifications',
      API_URL: 'https://api.example.org/v1',
    },
    {
      limits: { alerts: (_, send) => send(), notices: (_, send) => send(), summaries: (_, send) => send() },
      optOutKeys,
      stops: noStops,
      accounts: emailOn,
      reportStop: async () => undefined,
      sharedRate: { send: (_, sendOnce) => sendOnce() },
      ...changes,
    },
  );
