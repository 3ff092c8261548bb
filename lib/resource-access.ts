import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * What lets a function use a resource: the permission and the address, given in one, so that neither can be forgotten. The
 * owner of the resource makes it; a function takes the sum of what it needs, whose variables the compiler holds against
 * the function's environment schema.
 */
export class ResourceAccess<Environment> {
  readonly environment: Environment;
  readonly statements: readonly PolicyStatement[];

  constructor(environment: Environment, statements: readonly PolicyStatement[] = []) {
    this.environment = environment;
    this.statements = statements;
  }

  /** This access and another one. */
  and<Other>(other: ResourceAccess<Other>): ResourceAccess<Environment & Other> {
    return new ResourceAccess({ ...this.environment, ...other.environment }, [...this.statements, ...other.statements]);
  }
}
