import { z } from 'zod';
import { local } from './aws-service.ts';
import type { References } from './intrinsics.ts';

/** A resource of a template. */
export interface Resource {
  Type: string;
  Properties: Record<string, unknown>;
  /** CDK tells here from which construct a resource comes. */
  Metadata: { 'aws:cdk:path'?: string | undefined };
}

/** The resources of a template, by logical id. */
export type Resources = Record<string, Resource>;

interface StandIn {
  ref: string;
  attributes: Record<string, string>;
}

/** Makes a stand-in of a resource's own name, which `property` may hold. */
interface Names {
  property?: string;
  standIn: (name: string) => StandIn;
}

const arn = (service: string, resource: string) => `arn:aws:${service}:${local.region}:${local.account}:${resource}`;

/** What `Ref` and `Fn::GetAtt` give for the resources that are run, as the documentation of each type says. */
function standIns(endpointUrl: string): Map<string, Names> {
  const table: Names = {
    property: 'TableName',
    standIn: (name) => ({ ref: name, attributes: { Arn: arn('dynamodb', `table/${name}`) } }),
  };
  const queue = (name: string): StandIn => {
    const url = `${endpointUrl}/${local.account}/${name}`;
    return { ref: url, attributes: { Arn: arn('sqs', name), QueueName: name, QueueUrl: url } };
  };
  const topic = (name: string): StandIn => ({
    ref: arn('sns', name),
    attributes: { TopicArn: arn('sns', name), TopicName: name },
  });
  const lambda = (name: string): StandIn => ({ ref: name, attributes: { Arn: arn('lambda', `function:${name}`) } });
  const insightRule = (name: string): StandIn => ({ ref: name, attributes: { RuleName: name } });
  const api = (id: string): StandIn => ({ ref: id, attributes: { ApiId: id, ApiEndpoint: `https://${id}.local` } });
  return new Map<string, Names>([
    ['AWS::SQS::Queue', { property: 'QueueName', standIn: queue }],
    ['AWS::SNS::Topic', { property: 'TopicName', standIn: topic }],
    ['AWS::Lambda::Function', { property: 'FunctionName', standIn: lambda }],
    ['AWS::DynamoDB::Table', table],
    ['AWS::DynamoDB::GlobalTable', table],
    ['AWS::CloudWatch::InsightRule', { property: 'RuleName', standIn: insightRule }],
    ['AWS::ApiGatewayV2::Api', { standIn: api }],
  ]);
}

/**
 * Resolves references between resources. CloudFormation makes up a name for a resource that declares none; here it is
 * the path of its construct, or else its logical id. Types that are not run (a configuration set) are their logical id.
 */
export function referencesOf(resources: Resources, endpointUrl: string): References {
  const known = standIns(endpointUrl);
  const standIn = (id: string): StandIn | undefined => {
    const resource = resources[id];
    if (!resource) return undefined;
    const names = known.get(resource.Type);
    if (!names) return { ref: id, attributes: {} };
    const given = z.string().safeParse(names.property && resource.Properties[names.property]);
    return names.standIn(given.data ?? nameByPath(resource) ?? id);
  };
  return {
    ref: (id) => standIn(id)?.ref,
    attribute: (id, attribute) => standIn(id)?.attributes[attribute],
  };
}

/** `Stack/Delivery/send-webhook/Function/Resource` is called `Delivery-send-webhook`. */
function nameByPath({ Metadata, Type }: Resource): string | undefined {
  const segments = Metadata['aws:cdk:path']?.split('/').slice(1, -1) ?? [];
  if (segments.length > 1 && segments.at(-1) === Type.split('::').at(-1)) segments.pop();
  return segments.length > 0 ? segments.join('-') : undefined;
}
