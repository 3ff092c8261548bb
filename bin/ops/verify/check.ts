import type { Session } from '../session.ts';
import type { StackResource } from '../stack-resources.ts';
import type { Timing } from '../tenant/pace.ts';

/** What a check found. `resolve` says what to do, if that depends on it. */
export type Finding = { status: 'ok' | 'failed' | 'skipped'; found: string; resolve?: string };

/** The deployed stack, for the checks that a local stack cannot answer. */
export type DeployedStack = {
  name: string;
  /** Returns the stack's resources of a type, such as `AWS::Lambda::EventSourceMapping`. */
  resources: (type: string) => Promise<StackResource[]>;
};

/** What checks use. `stack` is undefined for a local stack. */
export type Context = { session: Session; stack: DeployedStack | undefined; timing: Timing };

/** A check of one assumption about a deployment. */
export type Check = {
  name: string;
  /** The assumption, as a sentence. */
  proves: string;
  /** What to do if it does not hold. */
  resolve: string;
  run: (context: Context) => Promise<Finding>;
};

/** Returns the finding that an assumption holds. */
export const ok = (found: string): Finding => ({ status: 'ok', found });

/** Returns the finding that an assumption does not hold. */
export const failed = (found: string, resolve?: string): Finding => ({
  status: 'failed',
  found,
  ...(resolve !== undefined && { resolve }),
});

/** Returns the finding that a check does not apply. */
export const skipped = (found: string): Finding => ({ status: 'skipped', found });

/** Makes a check that only a deployed stack can answer. */
export const ofDeployed =
  (run: (context: Context & { stack: DeployedStack }) => Promise<Finding>): Check['run'] =>
  async (context) =>
    context.stack ? run({ ...context, stack: context.stack }) : skipped('not on the local stack');
