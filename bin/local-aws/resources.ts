import { z } from 'zod';
import { LOCAL_ENV } from './aws-service.ts';
import type { References } from './intrinsics.ts';

/** A resource of a template. */
export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  /** CDK stores the construct path of a resource here. */
  Metadata: { 'aws:cdk:path'?: string | undefined };
};

/** The resources of a template, by logical ID. */
export type Resources = Record<string, Resource>;

type ResolvedResource = {
  ref: string;
  attributes: Record<string, string>;
};

/** How to resolve a resource by its name; `property` is the property that sets the name explicitly. */
type Resolver = {
  property?: string;
  resolve: (name: string) => ResolvedResource;
};

const arn = (service: string, resource: string) =>
  `arn:aws:${service}:${LOCAL_ENV.region}:${LOCAL_ENV.account}:${resource}`;

/** The URLs of the AWS endpoint and of the HTTP API. */
export type LocalUrls = { endpointUrl: string; apiUrl: string };

/** The `Ref` and `Fn::GetAtt` values of the supported types, as CloudFormation documents them. */
const resolvers = ({ endpointUrl, apiUrl }: LocalUrls): Map<string, Resolver> => {
  const table: Resolver = {
    property: 'TableName',
    resolve: (name) => ({ ref: name, attributes: { Arn: arn('dynamodb', `table/${name}`) } }),
  };
  const queue = (name: string): ResolvedResource => {
    const url = `${endpointUrl}/${LOCAL_ENV.account}/${name}`;
    return { ref: url, attributes: { Arn: arn('sqs', name), QueueName: name, QueueUrl: url } };
  };
  const topic = (name: string): ResolvedResource => ({
    ref: arn('sns', name),
    attributes: { TopicArn: arn('sns', name), TopicName: name },
  });
  const lambda = (name: string): ResolvedResource => ({
    ref: name,
    attributes: { Arn: arn('lambda', `function:${name}`) },
  });
  const role = (name: string): ResolvedResource => ({
    ref: name,
    attributes: { Arn: `arn:aws:iam::${LOCAL_ENV.account}:role/${name}`, RoleId: name },
  });
  const schedule = (name: string): ResolvedResource => ({
    ref: name,
    attributes: { Arn: arn('scheduler', `schedule/default/${name}`) },
  });
  const insightRule = (name: string): ResolvedResource => ({ ref: name, attributes: { RuleName: name } });
  const api = (id: string): ResolvedResource => ({
    ref: id,
    attributes: { ApiId: id, ApiEndpoint: apiUrl },
  });
  return new Map<string, Resolver>([
    ['AWS::SQS::Queue', { property: 'QueueName', resolve: queue }],
    ['AWS::SNS::Topic', { property: 'TopicName', resolve: topic }],
    ['AWS::Lambda::Function', { property: 'FunctionName', resolve: lambda }],
    ['AWS::DynamoDB::Table', table],
    ['AWS::IAM::Role', { property: 'RoleName', resolve: role }],
    ['AWS::Scheduler::Schedule', { property: 'Name', resolve: schedule }],
    ['AWS::CloudWatch::InsightRule', { property: 'RuleName', resolve: insightRule }],
    ['AWS::ApiGatewayV2::Api', { resolve: api }],
  ]);
};

/**
 * Resolves references between resources. CloudFormation generates a name for a resource without one; here the name is
 * the path of its construct, or its logical ID. Resources of other types, such as a configuration set, resolve to their
 * logical ID.
 */
export const referencesOf = (resources: Resources, urls: LocalUrls): References => {
  const resolverByType = resolvers(urls);
  const resolve = (id: string): ResolvedResource | undefined => {
    const resource = resources[id];
    if (!resource) return undefined;
    const resolver = resolverByType.get(resource.Type);
    if (!resolver) return { ref: id, attributes: {} };
    const given = z.string().safeParse(resolver.property && resource.Properties[resolver.property]);
    return resolver.resolve(given.data ?? nameByPath(resource) ?? id);
  };
  return {
    ref: (id) => resolve(id)?.ref,
    attribute: (id, attribute) => resolve(id)?.attributes[attribute],
  };
};

/** Returns `Orders-worker` for `Stack/Orders/worker/Function/Resource`. */
const nameByPath = ({ Metadata, Type }: Resource): string | undefined => {
  const segments = Metadata['aws:cdk:path']?.split('/').slice(1, -1) ?? [];
  if (segments.length > 1 && segments.at(-1) === Type.split('::').at(-1)) segments.pop();
  return segments.length > 0 ? segments.join('-') : undefined;
};
