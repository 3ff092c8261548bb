import { LOCAL_ENV } from './aws-service.ts';
import type { References } from './intrinsics.ts';

export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  /** CDK stores the construct path of a resource here. */
  Metadata: { 'aws:cdk:path'?: string | undefined };
};

export type Resources = Record<string, Resource>;

type ResolvedResource = {
  ref: string;
  attributes: Record<string, string>;
};

export type LocalUrls = { endpointUrl: string; apiUrl: string };

const arn = (service: string, resource: string) =>
  `arn:aws:${service}:${LOCAL_ENV.region}:${LOCAL_ENV.account}:${resource}`;

/** The `Ref` and `Fn::GetAtt` values of the supported types by the name of a resource, as CloudFormation has them. */
const resolvers = ({ endpointUrl, apiUrl }: LocalUrls): Record<string, (name: string) => ResolvedResource> => ({
  'AWS::SQS::Queue': (name) => {
    const url = `${endpointUrl}/${LOCAL_ENV.account}/${name}`;
    return { ref: url, attributes: { Arn: arn('sqs', name), QueueName: name, QueueUrl: url } };
  },
  'AWS::SNS::Topic': (name) => ({
    ref: arn('sns', name),
    attributes: { TopicArn: arn('sns', name), TopicName: name },
  }),
  'AWS::Lambda::Function': (name) => ({ ref: name, attributes: { Arn: arn('lambda', `function:${name}`) } }),
  'AWS::DynamoDB::Table': (name) => ({
    ref: name,
    attributes: { Arn: arn('dynamodb', `table/${name}`), StreamArn: arn('dynamodb', `table/${name}/stream/local`) },
  }),
  'AWS::IAM::Role': (name) => ({
    ref: name,
    attributes: { Arn: `arn:aws:iam::${LOCAL_ENV.account}:role/${name}`, RoleId: name },
  }),
  'AWS::Scheduler::Schedule': (name) => ({
    ref: name,
    attributes: { Arn: arn('scheduler', `schedule/default/${name}`) },
  }),
  'AWS::CloudWatch::InsightRule': (name) => ({ ref: name, attributes: { RuleName: name } }),
  'AWS::ApiGatewayV2::Api': (id) => ({ ref: id, attributes: { ApiId: id, ApiEndpoint: apiUrl } }),
});

/** The properties that name a resource explicitly. */
const NAME_PROPERTIES = ['QueueName', 'TopicName', 'FunctionName', 'TableName', 'RoleName', 'RuleName'];

/**
 * Resolves references between resources. CloudFormation generates a name for a resource without one; here the name is
 * the path of its construct, or its logical ID. Resources of other types, such as a configuration set, resolve to their
 * logical ID.
 */
export const referencesOf = (resources: Resources, urls: LocalUrls): References => {
  const byType = resolvers(urls);
  const resolve = (id: string): ResolvedResource | undefined => {
    const resource = resources[id];
    if (!resource) return undefined;
    const resolver = byType[resource.Type];
    if (!resolver) return { ref: id, attributes: {} };
    const given = NAME_PROPERTIES.map((property) => resource.Properties[property]).find((name) => name !== undefined);
    return resolver(typeof given === 'string' ? given : (nameByPath(resource) ?? id));
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
