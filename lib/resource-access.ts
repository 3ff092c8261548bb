import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * The permissions and environment variables that a function needs to use a resource
 * (docs/decisions/stack.md#permissions). The construct that owns the resource creates it. The compiler checks the
 * combined variables against the function's environment schema.
 */
export class ResourceAccess<Environment> {
  readonly environment: Environment;
  readonly statements: readonly PolicyStatement[];

  constructor(environment: Environment, statements: readonly PolicyStatement[] = []) {
    this.environment = environment;
    this.statements = statements;
  }

  /** Returns the combined permissions and variables of both. */
  and<Other>(other: ResourceAccess<Other>): ResourceAccess<Environment & Other> {
    return new ResourceAccess({ ...this.environment, ...other.environment }, [...this.statements, ...other.statements]);
  }
}
