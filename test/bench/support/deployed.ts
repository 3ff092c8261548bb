import { synthesize } from '../../../bin/local/assembly.ts';
import { type FunctionSettings, lambdaEnvironment } from '../../../bin/local/aws/lambda/environment.ts';
import { readTemplate } from '../../../bin/local/aws/template.ts';
import { functionNames } from '../../../lib/bundles.ts';
import type { FunctionName } from '../../../shared/environment.ts';

/** A function of the synthesized template, with the path of its bundle. */
export type DeployedFunction = { name: FunctionName; bundle: string; environment: Record<string, string> };

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
    }),
  );
  return { functions, remove };
};
