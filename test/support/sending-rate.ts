import type { AwsCall, AwsFault } from 'local-aws/aws-service.ts';

const isSend = ({ service, action, body }: AwsCall): boolean =>
  service === 'ses'
    ? action === 'SendRawEmail'
    : service === 'sns' && new URLSearchParams(body.toString()).has('PhoneNumber');

/**
 * Creates the sending rate of an account, which SES, and SNS for SMS, enforce: so many messages per second, with bursts of
 * one second. What they throttle uses up nothing.
 *
 * @returns the error of a call, or undefined if it is admitted
 */
export const createSendingRate = (perSecond: number, nowMs: () => number) => {
  const left = new Map<string, { messages: number; atMs: number }>();
  return (call: AwsCall): AwsFault | undefined => {
    if (!isSend(call)) return undefined;
    const { messages, atMs } = left.get(call.service) ?? { messages: perSecond, atMs: nowMs() };
    const available = Math.min(perSecond, messages + ((nowMs() - atMs) * perSecond) / 1_000);
    left.set(call.service, { messages: available < 1 ? available : available - 1, atMs: nowMs() });
    if (available >= 1) return undefined;
    const type = call.service === 'ses' ? 'Throttling' : 'Throttled';
    return { status: 400, type, message: 'Maximum sending rate exceeded.' };
  };
};
