import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { NETWORK_INTERFACE_ACTIONS } from '../../lib/network.ts';
import { notificationTypeIds, notificationTypes } from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const { template, functionIds } = synthesize({ egress: 'static', memoryMb: '320', memoryMbByType: 'webhook=1024' });

const functionSchema = z.object({
  MemorySize: z.number(),
  Role: reference,
  VpcConfig: z.object({ SubnetIds: z.array(reference), SecurityGroupIds: z.array(reference) }).optional(),
});
const functions = propertiesOf(template, 'AWS::Lambda::Function', functionSchema);
const functionNamesWhere = (matches: (properties: z.infer<typeof functionSchema>) => boolean) =>
  [...functionIds].flatMap(([name, id]) => {
    const properties = functions.get(id);
    return properties && matches(properties) ? [name] : [];
  });

/** The senders that call URLs from notifications and settings. No other function needs the VPC, which costs money. */
const HTTP_SENDERS: readonly string[] = notificationTypeIds
  .filter((type) => notificationTypes[type].sendsByHttp)
  .map((type) => senderName(type));

describe('the VPC for static egress', () => {
  it('is not in the stack by default', () => {
    const { template } = synthesize();
    for (const type of ['VPC', 'EIP', 'NatGateway']) template.resourceCountIs(`AWS::EC2::${type}`, 0);
  });

  it('has only the senders that send by HTTP attached', () => {
    expect(functionNamesWhere(({ VpcConfig }) => VpcConfig !== undefined).toSorted()).toEqual(HTTP_SENDERS.toSorted());
  });

  /**
   * CloudFormation replaces an Elastic IP whose logical ID changes, and firewalls of destinations block the new
   * address.
   */
  it('keeps the logical IDs of its Elastic IPs, and retains them when the stack is deleted', () => {
    expect(
      Object.entries(template.findResources('AWS::EC2::EIP')).map(([id, { DeletionPolicy }]) => [id, DeletionPolicy]),
    ).toEqual([
      ['NetworkAddress13BC55EC4', 'RetainExceptOnCreate'],
      ['NetworkAddress22D54C537', 'RetainExceptOnCreate'],
    ]);
    for (const zone of [1, 2]) expect(template.findOutputs(`EgressAddress${zone}`)).not.toEqual({});
  });

  it('has two availability zones, each with its own NAT gateway', () => {
    template.resourceCountIs('AWS::EC2::NatGateway', 2);
    const routes = propertiesOf(template, 'AWS::EC2::Route', z.object({ NatGatewayId: reference.optional() }));
    expect(new Set([...routes.values()].flatMap(({ NatGatewayId = [] }) => NatGatewayId)).size).toBe(2);
  });

  it('allows outbound TCP only', () => {
    template.hasResourceProperties('AWS::EC2::SecurityGroup', {
      SecurityGroupEgress: [{ CidrIp: '0.0.0.0/0', IpProtocol: 'tcp', FromPort: 0, ToPort: 65_535 }],
    });
    template.resourceCountIs('AWS::EC2::SecurityGroupIngress', 0);
    expect(JSON.stringify(template.findResources('AWS::EC2::SecurityGroup'))).not.toContain('SecurityGroupIngress');
  });

  it('allows Lambda to manage network interfaces with the roles of its functions, and denies it to their code', () => {
    const policies = propertiesOf(
      template,
      'AWS::IAM::Policy',
      z.object({
        Roles: z.array(reference),
        PolicyDocument: z.object({ Statement: z.array(z.looseObject({ Effect: z.string(), Action: z.unknown() })) }),
      }),
    );
    for (const [name, id] of functionIds) {
      const role = functions.get(id)?.Role;
      const statements = [...policies.values()]
        .filter(({ Roles }) => Roles.some((roleId) => roleId === role))
        .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
        .filter(({ Action }) => JSON.stringify(Action).includes('ec2:'))
        .map(({ Effect, Action, Condition }) => ({ Effect, Action, isConditional: Condition !== undefined }));
      const expected = [
        { Effect: 'Allow', Action: NETWORK_INTERFACE_ACTIONS, isConditional: false },
        { Effect: 'Deny', Action: NETWORK_INTERFACE_ACTIONS, isConditional: true },
      ];
      expect([name, statements]).toEqual([name, HTTP_SENDERS.includes(name) ? expected : []]);
    }
  });
});

describe('function memory', () => {
  it('follows memoryMb and memoryMbByType', () => {
    expect(functionNamesWhere(({ MemorySize }) => MemorySize === 1024)).toEqual(['send-webhook']);
    expect(functionNamesWhere(({ MemorySize }) => MemorySize === 320)).toHaveLength(functionIds.size - 1);
  });
});
