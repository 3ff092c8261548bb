import { notificationTypeIds } from '../shared/contracts/notification-types.ts';

/** The longest name of a Contributor Insights rule (CloudWatch); stacks and APIs may have names as long. */
const MAX_RULE_NAME_LENGTH = 128;

/** What the longest name that is made from the stack's name adds to it (`monitoring/failing-tenants.ts`). */
const LONGEST_SUFFIX = Math.max(...notificationTypeIds.map((type) => `-FailingTenants-${type}`.length));

/** The longest name of a stack that can be deployed. */
export const MAX_STACK_NAME_LENGTH = MAX_RULE_NAME_LENGTH - LONGEST_SUFFIX;

/** Checks the name of a stack, since CloudFormation would fail only after it has created most of it. @throws Error with one sentence */
export const checkStackName = (name: string): void => {
  if (!/^[A-Za-z][A-Za-z0-9-]*$/.test(name)) {
    throw new Error('Wrong setting: stackName: must be letters, digits and hyphens, beginning with a letter');
  }
  if (name.length > MAX_STACK_NAME_LENGTH) {
    throw new Error(
      `Wrong setting: stackName: must have at most ${MAX_STACK_NAME_LENGTH} characters, not ${name.length}: names made from it may have ${MAX_RULE_NAME_LENGTH}`,
    );
  }
};
