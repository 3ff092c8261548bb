import { z } from 'zod';
import { LOCAL_ENV } from './aws-service.ts';
import { StartError } from './start-error.ts';

/** Resolves the references of a template. Both functions return undefined for unknown resources and attributes. */
export type References = {
  ref(logicalId: string): string | undefined;
  attribute(logicalId: string, name: string): string | undefined;
};

const PSEUDO_PARAMETERS = new Map<string, string>([
  ['AWS::AccountId', LOCAL_ENV.account],
  ['AWS::Region', LOCAL_ENV.region],
  ['AWS::Partition', 'aws'],
  ['AWS::URLSuffix', 'amazonaws.com'],
  ['AWS::StackName', 'local'],
  ['AWS::StackId', `arn:aws:cloudformation:${LOCAL_ENV.region}:${LOCAL_ENV.account}:stack/local/local`],
]);

const join = z.tuple([z.string(), z.array(z.unknown())]);
const getAtt = z.tuple([z.string(), z.string()]);
const plain = z.union([z.string(), z.number(), z.boolean()]);
const intrinsic = z.record(z.string(), z.unknown());

/** Resolves a template value to text. Throws a `StartError` if it cannot. */
export const textOf = (value: unknown, references: References): string => {
  const literal = plain.safeParse(value);
  if (literal.success) return String(literal.data);
  const [name, argument] = singleEntry(value);
  const parsed = <Schema extends z.ZodType>(schema: Schema) => argumentOf(name, argument, schema);
  if (name === 'Ref') {
    const id = parsed(z.string());
    return existing(id, PSEUDO_PARAMETERS.get(id) ?? references.ref(id));
  }
  if (name === 'Fn::GetAtt') {
    const [id, attribute] = parsed(getAtt);
    return existing(`${id}.${attribute}`, references.attribute(id, attribute));
  }
  if (name === 'Fn::Join') {
    const [delimiter, parts] = parsed(join);
    return parts.map((part) => textOf(part, references)).join(delimiter);
  }
  throw new StartError(`The template uses ${name}, which the local stack does not support.`);
};

const argumentOf = <Schema extends z.ZodType>(name: string, argument: unknown, schema: Schema): z.infer<Schema> => {
  const parsed = schema.safeParse(argument);
  if (parsed.success) return parsed.data;
  throw new StartError(`The template has a malformed ${name}: ${JSON.stringify(argument)}`);
};

const singleEntry = (value: unknown): [name: string, argument: unknown] => {
  const entries = Object.entries(intrinsic.safeParse(value).data ?? {});
  const [entry] = entries;
  if (!entry || entries.length > 1) {
    throw new StartError(`The template has ${JSON.stringify(value)} where text is required.`);
  }
  return entry;
};

const existing = (name: string, target: string | undefined): string => {
  if (target === undefined) throw new StartError(`The template refers to ${name}, which does not exist locally.`);
  return target;
};
