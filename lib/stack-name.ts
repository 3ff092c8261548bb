/** The CloudWatch limit for the name of a Contributor Insights rule. Stack and API names have the same limit. */
const MAX_RULE_NAME_LENGTH = 128;

/** What a rule appends to the stack name (`monitoring/failing-tenants.ts`). */
const RULE_SUFFIX = '-FailingTenants';

/** The longest stack name that can be deployed. */
export const MAX_STACK_NAME_LENGTH = MAX_RULE_NAME_LENGTH - RULE_SUFFIX.length;

/**
 * Checks a stack name at synthesis, because CloudFormation would fail only after creating most resources.
 *
 * @throws Error if the name is invalid or too long
 */
export const checkStackName = (name: string): void => {
  if (/^[A-Za-z][A-Za-z0-9-]*$/.test(name) && name.length <= MAX_STACK_NAME_LENGTH) return;
  throw new Error(
    `Invalid setting: stackName must have at most ${MAX_STACK_NAME_LENGTH} letters, digits and hyphens and start with a letter, not ${JSON.stringify(name)}.`,
  );
};
