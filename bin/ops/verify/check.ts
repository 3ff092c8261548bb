import type { Session } from '../session.ts';
import type { Timing } from '../table-scan.ts';

/** What a check found. `resolve` says what to do, if that depends on it. */
export type Finding = { status: 'ok' | 'failed' | 'skipped'; found: string; resolve?: string };

export type Context = { session: Session; timing: Timing };

/** A check of one assumption about a deployment. */
export type Check = {
  name: string;
  proves: string;
  /** What to do if it does not hold. */
  resolve: string;
  run: (context: Context) => Promise<Finding>;
};

export const ok = (found: string): Finding => ({ status: 'ok', found });

export const failed = (found: string, resolve?: string): Finding => ({
  status: 'failed',
  found,
  ...(resolve !== undefined && { resolve }),
});

export const skipped = (found: string): Finding => ({ status: 'skipped', found });

/** Makes a check that only a deployed stack can answer. */
export const ofDeployed =
  (run: (session: Session, stackName: string) => Promise<Finding>): Check['run'] =>
  async ({ session }) => {
    const { stackName } = session.deployment;
    return stackName === undefined ? skipped('not on the local stack') : run(session, stackName);
  };
