/**
 * The longest stack name that can be deployed: the name of the Contributor Insights rule has at most 128 characters, as
 * many as that of a stack, and appends to it.
 */
export const MAX_STACK_NAME_LENGTH = 128 - '-FailingTenants'.length;

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
