import type { Recipients } from '../../adapters/accounts/recipients.ts';
import { type CodeResult, codeRequest } from '../../contracts/messages.ts';
import { type AttemptOutcome, failed } from '../../domain/attempt-outcome.ts';
import { failureText } from '../../domain/failure-text.ts';
import type { DailyLimit } from '../daily-limit.ts';
import type { SendCode } from '../sender/sender.ts';
import type { RefusalOf } from '../sender/sender-dependencies.ts';

/** Sends a code to a recipient of a tenant. */
export type CodeTransport = (
  code: string,
  recipient: { tenant: string; address: string },
  timeLeft: () => number,
) => Promise<AttemptOutcome>;

/**
 * Creates the function that creates a code and sends it (docs/decisions/api.md#verified-recipients): the code is in no
 * request or response of the API, and in no message on a queue. It counts toward the tenant's limit of alerts of the type.
 *
 * @param refusalOf says which email addresses get none. Default: all do
 */
export const createSendCode =
  (
    recipients: Pick<Recipients, 'issue'>,
    limit: DailyLimit,
    transport: CodeTransport,
    refusalOf: RefusalOf = async () => undefined,
  ): SendCode =>
  async (input, timeLeft): Promise<CodeResult> => {
    const { tenant, address, replaces } = codeRequest.parse(input);
    const reason = await refusalOf(tenant, { type: 'email', details: { address } });
    if (reason) return { kind: 'failed', isPermanent: true, message: `Not sent: ${failureText(reason, undefined)}` };
    let refusal: CodeResult | undefined;
    const outcome = await limit(tenant, async () => {
      const issued = await recipients.issue(tenant, address, replaces);
      if (issued.kind === 'issued') return transport(issued.code, { tenant, address }, timeLeft);
      refusal = { kind: issued.kind };
      return failed('permanent', 'rejected', '', { nothingSent: true });
    });
    if (refusal) return refusal;
    if (outcome.result === 'delivered') return { kind: 'sent' };
    return { kind: 'failed', isPermanent: outcome.result === 'permanent', message: outcome.explanation };
  };
