import { type References, textOf } from 'local-aws/intrinsics.ts';
import { referencesOf } from 'local-aws/resources.ts';
import { templateResources } from 'local-aws/template.ts';
import * as z from 'zod';
import { arn, type Call, OPERATOR_KEY } from './calls.ts';

/** An action on a resource, or on all resources but one, that a role allows. */
export type Grant = {
  /** The function that has the role, or the name of the role if a schedule has it. */
  caller: string;
  action: string;
  /** An ARN with `*` as a wildcard. */
  resource: string;
  /** True if the grant covers all resources except this one. */
  isExcluded: boolean;
  /** The required values of condition keys, with `*` as a wildcard where `StringLike` compares them. */
  conditions: Readonly<Record<'StringEquals' | 'StringLike', Readonly<Record<string, string>>>>;
};

const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.array(schema), schema.transform((value) => [value])]);

const role = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((attribute) => attribute['Fn::GetAtt'][0]),
]);

/** Rejects statements that the test does not support, such as Deny. */
const statement = z.strictObject({
  Effect: z.literal('Allow'),
  Action: oneOrMore(z.string()),
  Resource: oneOrMore(z.unknown()).optional(),
  NotResource: oneOrMore(z.unknown()).optional(),
  Condition: z
    .strictObject({
      StringEquals: z.record(z.string(), z.string()).default({}),
      StringLike: z.record(z.string(), z.unknown()).default({}),
    })
    .default({ StringEquals: {}, StringLike: {} }),
});

const PolicyDocument = z.object({ Statement: z.array(statement) });
const policy = z.object({ Roles: z.array(role), PolicyDocument });
const managedPolicy = z.object({ PolicyDocument });
const lambdaFunction = z.object({ Role: role });
const schedule = z.object({ Target: z.object({ RoleArn: role }) });

/** Returns what the role of each function and schedule allows, except for logs, which Lambda writes. */
export const grantsOf = (template: unknown, endpointUrl: string): Grant[] => {
  const resources = templateResources(template);
  const references = referencesOf(resources, { endpointUrl, apiUrl: endpointUrl });
  const ofType = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  const callerByRole = new Map([
    ...ofType('AWS::Lambda::Function').map(
      ([id, { Properties }]) => [lambdaFunction.parse(Properties).Role, references.ref(id) ?? id] as const,
    ),
    ...ofType('AWS::Scheduler::Schedule')
      .map(([, { Properties }]) => schedule.parse(Properties).Target.RoleArn)
      .map((id) => [id, references.ref(id) ?? id] as const),
  ]);
  return ofType('AWS::IAM::Policy')
    .map(([, { Properties }]) => policy.parse(Properties))
    .flatMap(({ Roles, PolicyDocument: { Statement } }) =>
      Roles.flatMap((id) => callerByRole.get(id) ?? []).flatMap((caller) =>
        grantsIn(
          Statement.filter(({ Action }) => !Action.some((action) => action.startsWith('logs:'))),
          caller,
          references,
        ),
      ),
    );
};

/** Returns what the policies of operators allow. */
export const operatorsGrantsOf = (template: unknown, endpointUrl: string): Record<'read' | 'change', Grant[]> => {
  const resources = templateResources(template);
  const references = referencesOf(resources, { endpointUrl, apiUrl: endpointUrl });
  // The local AWS has no log groups: their names are their logical IDs here.
  const attribute = (id: string, name: string) =>
    resources[id]?.Type === 'AWS::Logs::LogGroup' ? arn('logs', `log-group:${id}:*`) : references.attribute(id, name);
  const grantsOfPolicy = (start: string): Grant[] =>
    Object.entries(resources)
      .filter(([id, { Type }]) => Type === 'AWS::IAM::ManagedPolicy' && id.startsWith(start))
      .flatMap(([, { Properties }]) =>
        grantsIn(managedPolicy.parse(Properties).PolicyDocument.Statement, OPERATOR_KEY, { ...references, attribute }),
      );
  return { read: grantsOfPolicy('OperatorsRead'), change: grantsOfPolicy('OperatorsChange') };
};

const grantsIn = (statements: readonly z.infer<typeof statement>[], caller: string, references: References): Grant[] =>
  statements.flatMap(({ Action, Resource, NotResource, Condition }) =>
    (Resource ?? NotResource ?? []).flatMap((resource) =>
      Action.map((action) => ({
        caller,
        action,
        resource: textOf(resource, references),
        isExcluded: NotResource !== undefined,
        conditions: {
          StringEquals: Condition.StringEquals,
          StringLike: Object.fromEntries(
            Object.entries(Condition.StringLike).map(([key, value]) => [key, textOf(value, references)]),
          ),
        },
      })),
    ),
  );

const matches = (pattern: string, resource: string): boolean =>
  new RegExp(`^${pattern.split('*').map(RegExp.escape).join('.*')}$`, 's').test(resource);

/** Returns whether the grant allows the call. */
export const allows = ({ caller, action, resource, isExcluded, conditions }: Grant, call: Call): boolean =>
  caller === call.caller &&
  action === call.action &&
  matches(resource, call.resource) !== isExcluded &&
  Object.entries(conditions.StringEquals).every(([key, value]) => call.context[key] === value) &&
  Object.entries(conditions.StringLike).every(([key, value]) => matches(value, call.context[key] ?? ''));
