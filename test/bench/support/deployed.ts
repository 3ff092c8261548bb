import { synthesize } from '../../../bin/local/assembly.ts';
import { type FunctionSettings, lambdaEnvironment } from '../../../bin/local/aws/lambda/environment.ts';
import { readTemplate } from '../../../bin/local/aws/template.ts';
import { functionNames } from '../../../lib/bundles.ts';
import type { FunctionName } from '../../../shared/environment.ts';

/** A function as the synthesized template declares it: where its bundle lies, and its whole environment. */
export type Deployed = { name: FunctionName; bundle: string; environment: Record<string, string> };

const nameOf = ({ name }: FunctionSettings): FunctionName => {
  const found = functionNames.find((known) => name.endsWith(`-${known}`));
  if (!found) throw new Error(`The template has a function ${name} that the stack does not know.`);
  return found;
};

/** All functions as they would be deployed, set to call AWS at an address. */
export const deployedFunctions = (endpointUrl: string, settings: Record<string, string>) => {
  const { template, bundle, remove } = synthesize(settings);
  const functions = readTemplate(template, { endpointUrl, bundle }).functions.map(
    (one): Deployed => ({
      name: nameOf(one),
      bundle: `${one.directory}/index.js`,
      environment: lambdaEnvironment(one, endpointUrl),
    }),
  );
  return { functions, remove };
};
