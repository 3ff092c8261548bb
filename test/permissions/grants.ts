import * as z from 'zod';
import { textOf } from '../../bin/local/aws/intrinsics.ts';
import { referencesOf } from '../../bin/local/aws/resources.ts';
import type { Call } from './calls.ts';

/** One action on one resource, or on all but one, that the role of a function allows. */
export type Grant = {
  /** The name of the function. */
  holder: string;
  action: string;
  /** An ARN, in which `*` stands for anything. */
  resource: string;
  /** True where everything is allowed but this resource. */
  isExcluded: boolean;
  /** Condition keys, and the values that they must have. */
  conditions: Readonly<Record<string, string>>;
};

const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.array(schema), schema.transform((one) => [one])]);

const role = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((attribute) => attribute['Fn::GetAtt'][0]),
]);

/** A statement that the test does not understand, such as a Deny, does not parse. */
const statement = z.strictObject({
  Effect: z.literal('Allow'),
  Action: oneOrMore(z.string()),
  Resource: oneOrMore(z.unknown()).optional(),
  NotResource: oneOrMore(z.unknown()).optional(),
  Condition: z.strictObject({ StringEquals: z.record(z.string(), z.string()) }).optional(),
});

const policy = z.object({
  Roles: z.array(role),
  PolicyDocument: z.object({ Statement: z.array(statement) }),
});
const lambdaFunction = z.object({ Role: role });

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).default({}),
      Metadata: z.object({ 'aws:cdk:path': z.string().optional() }).default({}),
    }),
  ),
});

/** What the synthesized role of each function allows, its own logs aside: Lambda itself writes those. */
export const grantsOf = (template: unknown, endpointUrl: string): Grant[] => {
  const { Resources: resources } = templateSchema.parse(template);
  const references = referencesOf(resources, endpointUrl);
  const ofType = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  const holders = new Map(
    ofType('AWS::Lambda::Function').map(([id, { Properties }]) => [
      lambdaFunction.parse(Properties).Role,
      references.ref(id) ?? id,
    ]),
  );
  return ofType('AWS::IAM::Policy')
    .map(([, { Properties }]) => policy.parse(Properties))
    .flatMap(({ Roles, PolicyDocument }) =>
      Roles.flatMap((id) => holders.get(id) ?? []).flatMap((holder) =>
        PolicyDocument.Statement.filter(({ Action }) => !Action.some((action) => action.startsWith('logs:'))).flatMap(
          ({ Action, Resource, NotResource, Condition }) =>
            (Resource ?? NotResource ?? []).flatMap((resource) =>
              Action.map((action) => ({
                holder,
                action,
                resource: textOf(resource, references),
                isExcluded: NotResource !== undefined,
                conditions: Condition?.StringEquals ?? {},
              })),
            ),
        ),
      ),
    );
};

const fits = (pattern: string, resource: string): boolean =>
  new RegExp(`^${pattern.split('*').map(RegExp.escape).join('.*')}$`, 's').test(resource);

/** Whether IAM would allow the call by this grant. */
export const allows = ({ holder, action, resource, isExcluded, conditions }: Grant, call: Call): boolean =>
  holder === call.caller &&
  action === call.action &&
  fits(resource, call.resource) !== isExcluded &&
  Object.entries(conditions).every(([key, value]) => call.context[key] === value);
