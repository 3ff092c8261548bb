import { type FunctionSettings, lambdaEnvironment } from 'local-aws/lambda/environment.ts';
import { readTemplate } from 'local-aws/template.ts';
import * as z from 'zod';
import { synthesize } from '../../../bin/local/assembly.ts';
import { functionNames } from '../../../lib/bundles.ts';
import type { FunctionName } from '../../../shared/environment.ts';

/** A function of the synthesized template, with the path of its bundle. */
export type DeployedFunction = {
  name: FunctionName;
  bundle: string;
  environment: Record<string, string>;
  memoryMb: number;
};

const loggedFunction = z.object({
  Type: z.literal('AWS::Lambda::Function'),
  Properties: z.object({ LoggingConfig: z.object({ SystemLogLevel: z.string().default('INFO') }) }),
});
const resources = z.object({ Resources: z.record(z.string(), z.unknown()) });

/**
 * Returns whether Lambda logs every invocation of a function of the template. With the system log level WARN it logs
 * only those that fail (AWS Lambda developer guide, "System log level event mapping").
 */
const logsInvocations = (template: unknown): boolean =>
  Object.values(resources.parse(template).Resources)
    .flatMap((resource) => loggedFunction.safeParse(resource).data ?? [])
    .some(({ Properties }) => Properties.LoggingConfig.SystemLogLevel !== 'WARN');

const nameOf = ({ name }: FunctionSettings): FunctionName => {
  const found = functionNames.find((known) => name.endsWith(`-${known}`));
  if (!found) throw new Error(`The template has an unknown function ${name}.`);
  return found;
};

/** Returns all functions of the template, configured to call AWS at a URL. */
export const deployedFunctions = (endpointUrl: string, settings: Record<string, string>) => {
  const { template, bundle, remove } = synthesize(settings);
  const functions = readTemplate(template, { endpointUrl, apiUrl: endpointUrl, bundle }).functions.map(
    (settingsOfFunction): DeployedFunction => ({
      name: nameOf(settingsOfFunction),
      bundle: `${settingsOfFunction.directory}/index.js`,
      environment: lambdaEnvironment(settingsOfFunction, endpointUrl),
      memoryMb: settingsOfFunction.memoryMb,
    }),
  );
  return { functions, logsInvocations: logsInvocations(template), remove };
};
