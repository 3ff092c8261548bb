import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { NETWORK_INTERFACE_ACTIONS } from '../../lib/network.ts';
import { propertiesOf, reference, synthesized } from '../support/stack.ts';

const { template, functionIds } = synthesized({ egress: 'static', memoryMb: '256', memoryMbByType: 'webhook=1024' });

const functionSchema = z.object({
  MemorySize: z.number(),
  Role: reference,
  VpcConfig: z.object({ SubnetIds: z.array(reference), SecurityGroupIds: z.array(reference) }).optional(),
});
const functions = propertiesOf(template, 'AWS::Lambda::Function', functionSchema);
const namesWhere = (fits: (one: z.infer<typeof functionSchema>) => boolean) =>
  [...functionIds].flatMap(([name, id]) => {
    const found = functions.get(id);
    return found && fits(found) ? [name] : [];
  });

/** Those that dial the URLs of users and operators; no other needs the network, nor its price. */
const DIALLING = ['send-webhook', 'send-incidentpager', 'send-incidentrouter', 'send-atomfeed'];

describe('the network of static addresses', () => {
  it('is not there by default', () => {
    const { template } = synthesized();
    for (const type of ['VPC', 'EIP', 'NatGateway']) template.resourceCountIs(`AWS::EC2::${type}`, 0);
  });

  it('holds the senders that dial URLs, and nothing else', () => {
    expect(namesWhere(({ VpcConfig }) => VpcConfig !== undefined).toSorted()).toEqual(DIALLING.toSorted());
  });

  /** An address whose id changes is another address, which no receiver lets through. */
  it('keeps its addresses: their logical ids do not change, and they outlive the stack', () => {
    expect(
      Object.entries(template.findResources('AWS::EC2::EIP')).map(([id, one]) => [id, one.DeletionPolicy]),
    ).toEqual([
      ['NetworkAddress13BC55EC4', 'RetainExceptOnCreate'],
      ['NetworkAddress22D54C537', 'RetainExceptOnCreate'],
    ]);
    for (const zone of [1, 2]) expect(template.findOutputs(`EgressAddress${zone}`)).not.toEqual({});
  });

  it('has a NAT gateway in each of two zones, and sends each zone by its own', () => {
    template.resourceCountIs('AWS::EC2::NatGateway', 2);
    const routes = propertiesOf(template, 'AWS::EC2::Route', z.object({ NatGatewayId: reference.optional() }));
    expect(new Set([...routes.values()].flatMap(({ NatGatewayId = [] }) => NatGatewayId)).size).toBe(2);
  });

  it('lets TCP out and nothing in', () => {
    template.hasResourceProperties('AWS::EC2::SecurityGroup', {
      SecurityGroupEgress: [{ CidrIp: '0.0.0.0/0', IpProtocol: 'tcp', FromPort: 0, ToPort: 65_535 }],
    });
    template.resourceCountIs('AWS::EC2::SecurityGroupIngress', 0);
    expect(JSON.stringify(template.findResources('AWS::EC2::SecurityGroup'))).not.toContain('SecurityGroupIngress');
  });

  it('reaches DynamoDB by a gateway endpoint', () => {
    template.hasResourceProperties('AWS::EC2::VPCEndpoint', { VpcEndpointType: 'Gateway' });
  });

  it('lets Lambda make its interfaces with the roles of these functions, but not their code', () => {
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
        .filter(({ Roles }) => Roles.some((one) => one === role))
        .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
        .filter(({ Action }) => JSON.stringify(Action).includes('ec2:'))
        .map(({ Effect, Action, Condition }) => ({ Effect, Action, isConditional: Condition !== undefined }));
      const expected = [
        { Effect: 'Allow', Action: NETWORK_INTERFACE_ACTIONS, isConditional: false },
        { Effect: 'Deny', Action: NETWORK_INTERFACE_ACTIONS, isConditional: true },
      ];
      expect([name, statements]).toEqual([name, DIALLING.includes(name) ? expected : []]);
    }
  });
});

describe('the memory of functions', () => {
  it('is what the settings say, of all and of single types', () => {
    expect(namesWhere(({ MemorySize }) => MemorySize === 1024)).toEqual(['send-webhook']);
    expect(namesWhere(({ MemorySize }) => MemorySize === 256)).toHaveLength(functionIds.size - 1);
  });
});
