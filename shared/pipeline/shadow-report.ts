import type { Clock } from '../domain/clock.ts';
import type { OperatorMessage } from './transports/operator-message.ts';

/** The most tenants that the message names: with IDs of 128 characters, it stays below 32 KB. */
const MAX_NAMED = 100;

const digest = (tenants: readonly string[]): OperatorMessage => {
  const what = tenants.length === 1 ? '1 tenant' : `${tenants.length} tenants`;
  const others = tenants.length - MAX_NAMED;
  return {
    subject: `Shadow mode: alerts of ${what} are not sent`,
    text: [
      `The service records the alerts of ${what} as cancelled, for the reason shadow. If no other system sends them, end shadow mode.`,
      [...tenants.slice(0, MAX_NAMED), ...(others > 0 ? [`and ${others} more`] : [])].join('\n'),
      'List them: npm run -s ops -- tenants --stack STACK\nEnd shadow mode: npm run -s ops -- account shadow TENANT off --stack STACK',
      'The service sends this message every day while a tenant is in shadow mode.',
    ].join('\n\n'),
  };
};

/**
 * Creates the daily report to the operators about the tenants in shadow mode, which would be an outage if it was
 * forgotten (docs/decisions/notices.md#report-of-shadow-mode). It rejects if a dependency fails, so that Lambda repeats it.
 */
export const createShadowReport =
  (
    findShadowed: (nowMs: number) => Promise<string[]>,
    publish: (message: OperatorMessage) => Promise<void>,
    clock: Clock = Date.now,
  ) =>
  async (): Promise<void> => {
    const tenants = await findShadowed(clock());
    if (tenants.length > 0) await publish(digest(tenants));
  };
