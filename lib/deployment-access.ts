import { App, type AppProps, Aws, CfnOutput, Duration, PERMISSIONS_BOUNDARY_CONTEXT_KEY, Stack } from 'aws-cdk-lib';
import { ManagedPolicy, OidcProviderNative, Role, WebIdentityPrincipal } from 'aws-cdk-lib/aws-iam';
import { NEW_STYLE_STACK_SYNTHESIS_CONTEXT } from 'aws-cdk-lib/cx-api';
import type { Construct } from 'constructs';
import * as z from 'zod';
import {
  boundaryName,
  boundaryStatements,
  deployRoleName,
  executionPolicyName,
  executionStatements,
} from './execution-permissions.ts';
import { allow } from './resource-access.ts';
import { parseSettings } from './settings.ts';
import { checkStackName, DEPLOYMENT_ACCESS_SUFFIX } from './stack-name.ts';
import { readStage, type Stage, stageNames } from './stages.ts';

/** The issuer of the tokens of GitHub Actions. */
const ISSUER = 'token.actions.githubusercontent.com';

/** The default qualifier of the CDK bootstrap stack, in the names of its roles and its bucket. */
const QUALIFIER = 'hnb659fds';

/** The roles of the CDK bootstrap stack that `cdk deploy` assumes. The fourth, for container images, is not needed. */
const BOOTSTRAP_ROLES = ['deploy-role', 'file-publishing-role', 'lookup-role'];

/** Who may deploy a stage. */
export type DeploymentAccessProps = {
  stage: Stage;
  /**
   * The GitHub repository as it is in the subject of its tokens: `acme/monitoring-notifications`, or
   * `acme@123456/monitoring-notifications@456789` with the IDs of owner and repository. GitHub includes them for
   * repositories that were created, renamed or transferred since 15 July 2026.
   */
  repository: string;
  /** Whether to create the OIDC provider of GitHub. An account can have only one. */
  createsProvider: boolean;
  /** The other stages in the same account and region with such access. They share the bootstrap roles. */
  neighbors: readonly string[];
};

/**
 * Access of a GitHub repository to one stage, without stored credentials: a role that only the workflows of this
 * repository in the environment of this stage can assume, and which can only assume the CDK bootstrap roles; the policy
 * that limits what CloudFormation can change; and the permissions boundary, which limits the roles that it creates.
 */
export class DeploymentAccess extends Stack {
  constructor(scope: Construct, { stage, repository, createsProvider, neighbors }: DeploymentAccessProps) {
    const { name, target, settings } = stage;
    super(scope, target.stackName + DEPLOYMENT_ACCESS_SUFFIX, {
      description: `Deployment of Monitoring Notifications, stage ${name}, from ${repository}`,
      env: { account: target.account, region: target.region },
    });
    const iamArn = (resource: string) => `arn:${Aws.PARTITION}:iam::${target.account}:${resource}`;
    const providerArn = createsProvider
      ? new OidcProviderNative(this, 'GitHub', { url: `https://${ISSUER}`, clientIds: ['sts.amazonaws.com'] })
          .oidcProviderArn
      : iamArn(`oidc-provider/${ISSUER}`);
    const role = new Role(this, 'DeployRole', {
      roleName: deployRoleName(name),
      description: `Deploys stage ${name} from ${repository}`,
      maxSessionDuration: Duration.hours(1),
      assumedBy: new WebIdentityPrincipal(providerArn, {
        StringEquals: {
          [`${ISSUER}:aud`]: 'sts.amazonaws.com',
          [`${ISSUER}:sub`]: `repo:${repository}:environment:${name}`,
        },
      }),
    });
    const bootstrapRoles = BOOTSTRAP_ROLES.map((name) =>
      iamArn(`role/cdk-${QUALIFIER}-${name}-${target.account}-${target.region}`),
    );
    role.addToPolicy(allow(['sts:AssumeRole'], bootstrapRoles));
    // The execution policy names the boundary, and protects both by their names.
    const boundary = new ManagedPolicy(this, 'BoundaryPolicy', {
      managedPolicyName: boundaryName(name),
      description: `What the roles of ${target.stackName} can do at most`,
      statements: boundaryStatements(target, Object.values(parseSettings(settings).existingTables)),
    });
    const execution = new ManagedPolicy(this, 'ExecutionPolicy', {
      managedPolicyName: executionPolicyName(name),
      description: `What CloudFormation can change when it deploys ${target.stackName}`,
      statements: executionStatements(target, boundary.managedPolicyArn),
    });
    new CfnOutput(this, 'DeployRoleArn', { value: role.roleArn, description: 'Role of the deployment workflow' });
    const others = neighbors.map((other) => iamArn(`policy/${executionPolicyName(other)}`));
    const policies = [execution.managedPolicyArn, ...others];
    new CfnOutput(this, 'BootstrapCommand', {
      value: `npx cdk bootstrap aws://${target.account}/${target.region} --cloudformation-execution-policies ${policies.join(',')}`,
      description: 'Run this command when the stack has the boundary, or does not exist yet',
    });
    new CfnOutput(this, 'PermissionsBoundary', {
      value: boundaryName(name),
      description: `The value of "${PERMISSIONS_BOUNDARY_CONTEXT_KEY}" in ${stage.file}`,
    });
  }
}

/** GitHub puts either both IDs or none into the subject. */
const REPOSITORY = /^([\w.-]+\/[\w.-]+|[\w.-]+@\d+\/[\w.-]+@\d+)$/;

const contextSchema = z.object({
  stage: z.string('is required'),
  repository: z
    .string('is required')
    .regex(REPOSITORY, 'must have the form owner/name, or owner@ID/name@ID with the numeric IDs of both'),
  oidcProvider: z.enum(['create', 'existing'], 'must be create or existing').default('create'),
});

/**
 * Returns the CDK app with the deployment access of the stage in its context.
 *
 * @throws Error with one sentence for each invalid context value, or if the stage is invalid
 */
export const deploymentAccessApp = (props: AppProps = {}, stagesDirectory?: string): App => {
  const app = new App({ analyticsReporting: false, ...props });
  // Deploys with the credentials of the CLI, because the policies must exist before the bootstrap roles.
  app.node.setContext(NEW_STYLE_STACK_SYNTHESIS_CONTEXT, false);
  const { data, error } = contextSchema.safeParse(app.node.getAllContext());
  if (error) throw new Error(error.issues.map(({ path, message }) => `-c ${path.join('.')} ${message}`).join('. '));
  const stage = readStage(data.stage, stagesDirectory);
  checkStackName(stage.target.stackName);
  const neighbors = neighborsOf(stage, stagesDirectory);
  const createsProvider = data.oidcProvider === 'create';
  new DeploymentAccess(app, { stage, repository: data.repository, createsProvider, neighbors });
  return app;
};

/** Returns the other stages in the account and region of a stage whose files name a boundary. */
const neighborsOf = ({ name, target }: Stage, stagesDirectory: string | undefined): string[] =>
  stageNames(stagesDirectory).filter((other) => {
    if (other === name) return false;
    const { target: otherTarget, settings } = readStage(other, stagesDirectory);
    const isBeside = otherTarget.account === target.account && otherTarget.region === target.region;
    return isBeside && PERMISSIONS_BOUNDARY_CONTEXT_KEY in settings;
  });
