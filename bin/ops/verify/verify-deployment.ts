import { errorSummary, OperationError } from '../errors.ts';
import type { Session } from '../session.ts';
import { realTime } from '../tenant/pace.ts';
import { accountChecks } from './account-checks.ts';
import { apiCheck } from './api-check.ts';
import { type Check, type Finding, failed } from './check.ts';
import { deliveryCheck } from './delivery-check.ts';
import { eventSourcesCheck } from './event-sources.ts';

const checks: readonly Check[] = [apiCheck, deliveryCheck, eventSourcesCheck, ...accountChecks];

/** What a check found. `resolve` is null if nothing is to be done. */
export type Result = Pick<Check, 'name' | 'proves'> & Pick<Finding, 'status' | 'found'> & { resolve: string | null };

/** An expected error is what the check found. Any other one prevented it. */
const unanswered = (error: unknown): Finding =>
  error instanceof OperationError
    ? failed(error.message)
    : failed(`not checked: ${errorSummary(error)}`, 'run it again, with credentials that permit the request');

/** Runs all checks. One that cannot be answered has failed. */
export const verifyDeployment = async (
  session: Session,
  onProgress: (text: string) => void,
  timing = realTime,
): Promise<Result[]> => {
  let ended = 0;
  return Promise.all(
    checks.map(async ({ name, proves, resolve, run }): Promise<Result> => {
      const finding = await run({ session, timing }).catch(unanswered);
      onProgress(`${++ended} of ${checks.length} checks`);
      const { status, found } = finding;
      return { name, proves, status, found, resolve: status === 'failed' ? (finding.resolve ?? resolve) : null };
    }),
  );
};
