import { z } from 'zod';
import { local } from './aws-service.ts';
import { StartError } from './http.ts';

/** What references in a template stand for. Both answer undefined for what they do not know. */
export interface References {
  ref(logicalId: string): string | undefined;
  attribute(logicalId: string, name: string): string | undefined;
}

const pseudoParameters = new Map<string, string>([
  ['AWS::AccountId', local.account],
  ['AWS::Region', local.region],
  ['AWS::Partition', 'aws'],
  ['AWS::URLSuffix', 'amazonaws.com'],
  ['AWS::StackName', 'local'],
  ['AWS::StackId', `arn:aws:cloudformation:${local.region}:${local.account}:stack/local/local`],
]);

const join = z.tuple([z.string(), z.unknown()]);
const select = z.tuple([z.union([z.number(), z.string()]), z.unknown()]);
const split = z.tuple([z.string(), z.unknown()]);
const substitution = z.union([
  z.string().transform((text) => [text, {}] as const),
  z.tuple([z.string(), z.record(z.string(), z.unknown())]),
]);
const getAtt = z.union([z.tuple([z.string(), z.string()]), z.string().transform(dotted)]);
const plain = z.union([z.string(), z.number(), z.boolean()]);
const intrinsic = z.record(z.string(), z.unknown());

/** The text of a template value. It throws a `StartError` for whatever it cannot resolve. */
export function textOf(value: unknown, references: References): string {
  const literal = plain.safeParse(value);
  if (literal.success) return String(literal.data);
  const [name, argument] = only(value);
  const parsed = <Schema extends z.ZodType>(schema: Schema) => argumentOf(name, argument, schema);
  if (name === 'Ref') return refer(parsed(z.string()), references);
  if (name === 'Fn::GetAtt') return attribute(parsed(getAtt), references);
  if (name === 'Fn::Sub') return substitute(parsed(substitution), references);
  if (name === 'Fn::Join') {
    const [delimiter, parts] = parsed(join);
    return listOf(parts, references).join(delimiter);
  }
  if (name === 'Fn::Select') {
    const [index, parts] = parsed(select);
    const chosen = listOf(parts, references)[Number(index)];
    if (chosen === undefined) throw new StartError(`The template selects part ${index} of a shorter list.`);
    return chosen;
  }
  throw new StartError(`The template uses ${name}, which the local stack does not know.`);
}

/** The texts of a template list, which may be the result of `Fn::Split`. */
export function listOf(value: unknown, references: References): string[] {
  if (Array.isArray(value)) return value.map((part) => textOf(part, references));
  const [name, argument] = only(value);
  if (name !== 'Fn::Split') throw new StartError(`The template uses ${name} where a list belongs.`);
  const [delimiter, text] = argumentOf(name, argument, split);
  return textOf(text, references).split(delimiter);
}

function argumentOf<Schema extends z.ZodType>(name: string, argument: unknown, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(argument);
  if (parsed.success) return parsed.data;
  throw new StartError(`The template has a malformed ${name}: ${JSON.stringify(argument)}`);
}

function only(value: unknown): [name: string, argument: unknown] {
  const entries = Object.entries(intrinsic.safeParse(value).data ?? {});
  const [entry] = entries;
  if (!entry || entries.length > 1) {
    throw new StartError(`The template has ${JSON.stringify(value)} where a text belongs.`);
  }
  return entry;
}

function refer(id: string, references: References): string {
  const target = pseudoParameters.get(id) ?? references.ref(id);
  if (target === undefined) throw new StartError(`The template refers to ${id}, which has no local stand-in.`);
  return target;
}

function attribute([id, name]: readonly [string, string], references: References): string {
  const target = references.attribute(id, name);
  if (target === undefined) throw new StartError(`The template refers to ${id}.${name}, which has no local stand-in.`);
  return target;
}

function substitute([text, variables]: readonly [string, Record<string, unknown>], references: References): string {
  return text.replace(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
    if (literal) return `\${${name}}`;
    if (Object.hasOwn(variables, name)) return textOf(variables[name], references);
    return name.includes('.') ? attribute(dotted(name), references) : refer(name, references);
  });
}

function dotted(reference: string): [string, string] {
  const dot = reference.indexOf('.');
  return [reference.slice(0, dot), reference.slice(dot + 1)];
}
