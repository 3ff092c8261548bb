import { App, type AppProps, Aws, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { ManagedPolicy, OidcProviderNative, PolicyStatement, Role, WebIdentityPrincipal } from 'aws-cdk-lib/aws-iam';
import { NEW_STYLE_STACK_SYNTHESIS_CONTEXT } from 'aws-cdk-lib/cx-api';
import type { Construct } from 'constructs';
import * as z from 'zod';
import { executionStatements } from './execution-permissions.ts';
import { checkStackName, DEPLOYMENT_ACCESS_SUFFIX } from './stack-name.ts';
import { readStage, type Target } from './stages.ts';

/** The issuer of the tokens of GitHub Actions. */
const ISSUER = 'token.actions.githubusercontent.com';

/** The default qualifier of the CDK bootstrap stack, in the names of its roles and its bucket. */
const QUALIFIER = 'hnb659fds';

/** The roles of the CDK bootstrap stack that `cdk deploy` assumes. The fourth, for container images, is not needed. */
const BOOTSTRAP_ROLES = ['deploy-role', 'file-publishing-role', 'lookup-role'];

/** The name of the role that the workflow of a stage assumes; `.github/workflows/deploy.yml` repeats it. */
export const deployRoleName = (stage: string): string => `GitHubDeploy-MonitoringNotifications-${stage}`;

/** Who may deploy a stage. */
export type DeploymentAccessProps = {
  stage: string;
  target: Target;
  /**
   * The GitHub repository as it is in the subject of its tokens: `acme/monitoring-notifications`, or
   * `acme@123456/monitoring-notifications@456789` with the IDs of owner and repository. GitHub includes them for
   * repositories that were created, renamed or transferred since 15 July 2026.
   */
  repository: string;
  /** Whether to create the OIDC provider of GitHub. An account can have only one. */
  createsProvider: boolean;
};

/**
 * Access of a GitHub repository to one stage, without stored credentials: a role that only the workflows of this
 * repository in the environment of this stage can assume, and which can only assume the CDK bootstrap roles; and the
 * policies that limit what CloudFormation can change.
 */
export class DeploymentAccess extends Stack {
  constructor(scope: Construct, { stage, target, repository, createsProvider }: DeploymentAccessProps) {
    super(scope, target.stackName + DEPLOYMENT_ACCESS_SUFFIX, {
      description: `Deployment of Monitoring Notifications, stage ${stage}, from ${repository}`,
      env: { account: target.account, region: target.region },
    });
    const providerArn = createsProvider
      ? new OidcProviderNative(this, 'GitHub', { url: `https://${ISSUER}`, clientIds: ['sts.amazonaws.com'] })
          .oidcProviderArn
      : `arn:${Aws.PARTITION}:iam::${target.account}:oidc-provider/${ISSUER}`;
    const role = new Role(this, 'DeployRole', {
      roleName: deployRoleName(stage),
      description: `Deploys stage ${stage} from ${repository}`,
      maxSessionDuration: Duration.hours(1),
      assumedBy: new WebIdentityPrincipal(providerArn, {
        StringEquals: {
          [`${ISSUER}:aud`]: 'sts.amazonaws.com',
          [`${ISSUER}:sub`]: `repo:${repository}:environment:${stage}`,
        },
      }),
    });
    role.addToPolicy(
      new PolicyStatement({
        actions: ['sts:AssumeRole'],
        resources: BOOTSTRAP_ROLES.map(
          (name) =>
            `arn:${Aws.PARTITION}:iam::${target.account}:role/cdk-${QUALIFIER}-${name}-${target.account}-${target.region}`,
        ),
      }),
    );
    const policies = executionStatements(target).map(
      ([name, statements]) =>
        new ManagedPolicy(this, `${name}Policy`, {
          description: `What CloudFormation can change when it deploys ${target.stackName}`,
          statements,
        }),
    );
    const policyArns = policies.map(({ managedPolicyArn }) => managedPolicyArn).join(',');
    new CfnOutput(this, 'DeployRoleArn', { value: role.roleArn, description: 'Role of the deployment workflow' });
    new CfnOutput(this, 'BootstrapCommand', {
      value: `npx cdk bootstrap aws://${target.account}/${target.region} --cloudformation-execution-policies ${policyArns}`,
      description: 'Run this command next',
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
  const parsed = contextSchema.safeParse(app.node.getAllContext());
  if (!parsed.success)
    throw new Error(parsed.error.issues.map(({ path, message }) => `-c ${path.join('.')} ${message}`).join('. '));
  const { stage, repository, oidcProvider } = parsed.data;
  const { target } = readStage(stage, stagesDirectory);
  checkStackName(target.stackName);
  new DeploymentAccess(app, { stage, target, repository, createsProvider: oidcProvider === 'create' });
  return app;
};
