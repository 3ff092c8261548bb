import { Effect, PolicyStatement, type PolicyStatementProps } from 'aws-cdk-lib/aws-iam';

/** Returns a statement that allows actions on resources. */
export const allow = (
  actions: string[],
  resources: string[],
  conditions: NonNullable<PolicyStatementProps['conditions']> = {},
): PolicyStatement => new PolicyStatement({ actions, resources, conditions });

/** Returns a statement that denies actions on resources. */
export const deny = (...statement: Parameters<typeof allow>): PolicyStatement =>
  allow(...statement).copy({ effect: Effect.DENY });
