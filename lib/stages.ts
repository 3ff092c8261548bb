import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

export const STAGES_DIRECTORY = resolve(import.meta.dirname, '../bin/stages');

/** The account of the example files. It is not a valid AWS account, so nothing can be deployed to it by accident. */
export const PLACEHOLDER_ACCOUNT = '000000000000';

const text = z.string({
  error: ({ input }) => (input === undefined ? 'is required' : 'must be text in quotation marks'),
});

/** There, a deployment fails and rolls back at the configuration set of SES. */
export const NOT_IN_CHINA = 'must not be in China, where SES has no configuration sets';

/** Where a stack is deployed. The CDK CLI refuses to deploy with credentials of another account. */
export const targetSchema = z.object(
  {
    stackName: text,
    account: text.regex(/^\d{12}$/, 'must be 12 digits'),
    region: text
      .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'must be an AWS region, such as eu-west-1')
      .refine((region) => !region.startsWith('cn-'), NOT_IN_CHINA),
  },
  'must be a JSON object of settings',
);

export type Target = z.infer<typeof targetSchema>;

const stageFile = targetSchema.catchall(z.json());

const settingValue = z.union([z.string(), z.number(), z.boolean()], 'must be text, a number, true or false');

type Values = Readonly<Record<string, unknown>>;

/** A stage: its target, its settings, which are not yet validated, and its context of the CDK. */
export type Stage = { name: string; file: string; target: Target; settings: Values; context: Values };

/** In alphabetical order; none if there is no directory of stage files. */
export const stageNames = (directory = STAGES_DIRECTORY): string[] =>
  (existsSync(directory) ? readdirSync(directory) : [])
    .flatMap((file) => /^(.+)\.json$/.exec(file)?.[1] ?? [])
    .toSorted();

/**
 * Reads a stage from `bin/stages/<name>.json`.
 * @throws Error with one sentence if there is no such stage, if its file is invalid, or if another stage has the same
 * target: deploying one would then replace the other
 */
export const readStage = (name: string, directory = STAGES_DIRECTORY): Stage => {
  const names = stageNames(directory);
  if (!names.includes(name)) throw new Error(`"${name}" is not a stage; the stages are ${names.join(', ') || 'none'}`);
  const stage = parseStage(name, directory);
  const others = names.filter((other) => other !== name).map((other) => parseStage(other, directory));
  const twin = others.find(({ target }) => isDeepStrictEqual(target, stage.target));
  if (twin) {
    throw new Error(`${stage.file}: stackName, account and region are those of ${twin.file}; change stackName`);
  }
  return stage;
};

/**
 * Returns the stage that describes a stack, or undefined if no stage file does. An account or region that is not given
 * may be that of the stage. A stage with the placeholder account describes no stack.
 * @throws Error with one sentence if a stage file is invalid
 */
export const stageOfStack = (
  { stackName, account, region }: Pick<Target, 'stackName'> & { [Key in 'account' | 'region']?: string | undefined },
  directory = STAGES_DIRECTORY,
): Stage | undefined =>
  stageNames(directory)
    .map((name) => parseStage(name, directory))
    .find(
      ({ target }) =>
        target.account !== PLACEHOLDER_ACCOUNT &&
        isDeepStrictEqual(target, { stackName, account: account ?? target.account, region: region ?? target.region }),
    );

export const describeIssues = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => [...path, message].join(': ')).join('. ');

const parseStage = (name: string, directory: string): Stage => {
  const file = `bin/stages/${name}.json`;
  const { data, error } = stageFile.safeParse(readJson(join(directory, `${name}.json`), file));
  if (error) throw new Error(`${file}: ${describeIssues(error)}`);
  const { stackName, account, region, ...rest } = data;
  const isContext = (key: string): boolean => key.startsWith('@aws-cdk/core:');
  const [context, others] = [true, false].map((isWanted) =>
    Object.fromEntries(Object.entries(rest).filter(([key]) => isContext(key) === isWanted)),
  );
  const settings = z.record(z.string(), settingValue).safeParse(others);
  if (settings.error) throw new Error(`${file}: ${describeIssues(settings.error)}`);
  return { name, file, target: { stackName, account, region }, settings: settings.data, context: context ?? {} };
};

const readJson = (path: string, file: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
};
