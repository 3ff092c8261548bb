import { ArnFormat, CfnOutput, RemovalPolicy, Stack, Tags } from 'aws-cdk-lib';
import {
  CfnEIP,
  CfnSecurityGroup,
  GatewayVpcEndpointAwsService,
  NatProvider,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/** Each has a NAT gateway of its own, so that one zone can fail. */
const ZONES = ['1', '2'] as const;

/**
 * What Lambda does with the role of a function in a VPC. EC2 describes interfaces and subnets on no resource but `*`, and an
 * interface has no name before it is made.
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
 * A network whose traffic comes from addresses that do not change, for receivers with a firewall (setting `egress=static`).
 * DynamoDB is reached by a gateway endpoint, which costs nothing. SQS is reached through the NAT gateways, which are there
 * anyway: a sender sends retries and dead letters only (Lambda itself receives for it), and an interface endpoint in two
 * zones would pay from about 400 GB of them in a month.
 */
export class Network extends Construct {
  readonly #vpc: Vpc;
  readonly #securityGroup: CfnSecurityGroup;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const addresses = ZONES.map((zone) => {
      const address = new CfnEIP(this, `Address${zone}`, { domain: 'vpc' });
      // Receivers have these in their firewalls, and one that is given back cannot be had again.
      address.applyRemovalPolicy(
        settings.deletionProtection ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      );
      Tags.of(address).add('Name', `${Stack.of(this).stackName} egress ${zone}`);
      new CfnOutput(Stack.of(this), `EgressAddress${zone}`, {
        value: address.ref,
        description: 'An address that webhooks, pagers, routers and feeds are called from; there are two',
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
    this.#securityGroup = new CfnSecurityGroup(this, 'Senders', {
      vpcId: this.#vpc.vpcId,
      groupDescription: 'Senders: out by TCP, nothing in',
      securityGroupEgress: [
        {
          cidrIp: '0.0.0.0/0',
          ipProtocol: 'tcp',
          fromPort: 0,
          toPort: 65_535,
          description: 'URLs of users may have any port',
        },
      ],
    });
  }

  /** Makes a function run here. */
  place(lambda: LambdaFunction): void {
    const { defaultChild } = lambda.node;
    if (!(defaultChild instanceof CfnFunction))
      throw new Error('A function that is not declared here cannot be placed.');
    defaultChild.vpcConfig = {
      subnetIds: this.#vpc.privateSubnets.map(({ subnetId }) => subnetId),
      securityGroupIds: [this.#securityGroup.attrGroupId],
    };
    // It could not reach anything before there are routes and gateways, nor could these go while it is there.
    lambda.node.addDependency(this);
  }

  /** What the role of a function needs that runs here: Lambda may do this with it, the function's own code may not. */
  statements(): PolicyStatement[] {
    const anyFunction = Stack.of(this).formatArn({
      service: 'lambda',
      resource: 'function',
      resourceName: '*',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    return [
      new PolicyStatement({ actions: NETWORK_INTERFACE_ACTIONS, resources: ['*'] }),
      new PolicyStatement({
        effect: Effect.DENY,
        actions: NETWORK_INTERFACE_ACTIONS,
        resources: ['*'],
        conditions: { ArnLike: { 'lambda:SourceFunctionArn': anyFunction } },
      }),
    ];
  }
}
