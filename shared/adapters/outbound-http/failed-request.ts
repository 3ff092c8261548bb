import { type Failure, failed } from '../../domain/outcome.ts';
import { EgressRefused } from './guarded-lookup.ts';
import { DeadlineMissed } from './http-client.ts';

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'ERROR';

/**
 * The outcome of a request that got no answer. Its explanation is for the tester of the notification: it has the error's
 * code and the host that the tester gave, and never an address that a name was resolved to.
 */
export const failedRequest = (error: unknown, { host }: URL, deadline: number): Failure => {
  if (error instanceof EgressRefused) {
    const explanation = `EGRESS_REFUSED ${host} is, or resolves to, an address that is not public`;
    return failed(error.literal ? 'permanent' : 'transient', 'egress', explanation);
  }
  if (error instanceof DeadlineMissed) {
    return failed('transient', 'deadline', `ETIMEDOUT ${host} did not answer within ${deadline / 1000} s`);
  }
  return failed('transient', 'network', `${codeOf(error)} while sending to ${host}`);
};
