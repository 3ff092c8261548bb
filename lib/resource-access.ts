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

/** Returns a flag as environment variables contain it. */
export const flag = (value: boolean): 'true' | 'false' => (value ? 'true' : 'false');

/**
 * The permissions and environment variables that a function needs to use a resource
 * (docs/decisions/stack.md#permissions). The construct that owns the resource creates it. The compiler checks the
 * combined variables against the function's environment schema.
 */
export class ResourceAccess<Environment> {
  readonly environment: Environment;
  readonly statements: readonly PolicyStatement[];

  constructor(environment: Environment, ...statements: PolicyStatement[]) {
    this.environment = environment;
    this.statements = statements;
  }

  /** Returns the combined permissions and variables of both. */
  and<Other>({ environment, statements }: ResourceAccess<Other>): ResourceAccess<Environment & Other> {
    return new ResourceAccess({ ...this.environment, ...environment }, ...this.statements, ...statements);
  }
}
