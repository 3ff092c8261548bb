import { ArnFormat, CfnOutput, RemovalPolicy, Stack, Tags } from 'aws-cdk-lib';
import {
  CfnEIP,
  CfnSecurityGroup,
  GatewayVpcEndpointAwsService,
  NatProvider,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Effect, type PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { allow } from './service-function.ts';
import type { Settings } from './settings.ts';

/** Each has its own NAT gateway, so that the failure of one does not affect the other. */
const ZONES = ['1', '2'] as const;

/**
 * The actions that Lambda performs with the execution role of a function in a VPC. They need the resource `*`: the
 * Describe actions support no other, and a network interface has no ID before it is created.
 */
export const NETWORK_INTERFACE_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];

/**
 * A VPC with static egress IP addresses, for destinations behind a firewall (setting `egress=static`,
 * docs/decisions/stack.md#static-egress). DynamoDB traffic uses a gateway endpoint, which is free. SQS traffic uses the
 * NAT gateways: senders send only retries and dead letters, and interface endpoints in two zones would pay off above
 * about 400 GB a month.
 */
export class Network extends Construct {
  readonly #vpc: Vpc;
  readonly #securityGroup: CfnSecurityGroup;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const addresses = ZONES.map((zone) => {
      const address = new CfnEIP(this, `Address${zone}`, { domain: 'vpc' });
      // Firewalls of destinations allow these addresses, and a released address cannot be recovered.
      address.applyRemovalPolicy(
        settings.deletionProtection ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      );
      Tags.of(address).add('Name', `${Stack.of(this).stackName} egress ${zone}`);
      new CfnOutput(Stack.of(this), `EgressAddress${zone}`, {
        value: address.ref,
        description: `Egress IP address ${zone} of ${ZONES.length} for calls to webhooks, pagers, routers and feeds`,
      });
      return address;
    });
    this.#vpc = new Vpc(this, 'Vpc', {
      maxAzs: ZONES.length,
      natGateways: ZONES.length,
      natGatewayProvider: NatProvider.gateway({
        eipAllocationIds: addresses.map(({ attrAllocationId }) => attrAllocationId),
      }),
      subnetConfiguration: [
        { name: 'Public', subnetType: SubnetType.PUBLIC, cidrMask: 24, mapPublicIpOnLaunch: false },
        { name: 'Senders', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 20 },
      ],
      gatewayEndpoints: { DynamoDb: { service: GatewayVpcEndpointAwsService.DYNAMODB } },
      restrictDefaultSecurityGroup: false,
    });
    this.#securityGroup = new CfnSecurityGroup(this, 'SecurityGroup', {
      vpcId: this.#vpc.vpcId,
      groupDescription: 'Senders: outbound TCP only',
      securityGroupEgress: [
        {
          cidrIp: '0.0.0.0/0',
          ipProtocol: 'tcp',
          fromPort: 0,
          toPort: 65_535,
          description: 'Webhook URLs may use any port',
        },
      ],
    });
  }

  attachToVpc(lambda: LambdaFunction): void {
    const { defaultChild } = lambda.node;
    if (!(defaultChild instanceof CfnFunction)) throw new Error('An imported function cannot be attached to the VPC.');
    defaultChild.vpcConfig = {
      subnetIds: this.#vpc.privateSubnets.map(({ subnetId }) => subnetId),
      securityGroupIds: [this.#securityGroup.attrGroupId],
    };
    // Creates the function after the routes and gateways that it needs, and deletes it before them.
    lambda.node.addDependency(this);
  }

  /** They allow Lambda to manage network interfaces, and deny it to the function's code. */
  vpcStatements(): PolicyStatement[] {
    const anyFunction = Stack.of(this).formatArn({
      service: 'lambda',
      resource: 'function:*',
      arnFormat: ArnFormat.NO_RESOURCE_NAME,
    });
    const allowed = allow(NETWORK_INTERFACE_ACTIONS, ['*']);
    const conditions = { ArnLike: { 'lambda:SourceFunctionArn': anyFunction } };
    return [allowed, allowed.copy({ effect: Effect.DENY, conditions })];
  }
}
