/** What the stack of the deployment access appends to the stack name of its stage. */
export const DEPLOYMENT_ACCESS_SUFFIX = '-deployment-access';

/**
 * The longest stack name that can be deployed, also from GitHub. The limit of CloudFormation for the name of a stack,
 * and of CloudWatch for the name of a Contributor Insights rule, whose suffix is shorter, is 128 characters.
 */
export const MAX_STACK_NAME_LENGTH = 128 - DEPLOYMENT_ACCESS_SUFFIX.length;

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
