import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { vi } from 'vitest';
import * as z from 'zod';
import { ServiceFunction } from '../../lib/service-function.ts';
import type { FunctionName } from '../../shared/environment.ts';

/** Nobody looks into the functions here, and bundling them takes longer than all the rest: one directory stands for all. */
vi.doMock(import('../../lib/bundles.ts'), async (original) => ({
  ...(await original()),
  bundleFunctions: () => () => import.meta.dirname,
}));
const { notificationsApp, STACK_NAME } = await import('../../lib/app.ts');

/** Lends a directory for what is synthesized, and leaves nothing behind. */
export const inOutdir = <Result>(synthesize: (outdir: string) => Result): Result => {
  const outdir = mkdtempSync(join(tmpdir(), 'monitoring-notifications-'));
  try {
    return synthesize(outdir);
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
};

/**
 * The stack as `cdk deploy` would hand it over with these settings, and the logical id of each function by its name. Checking
 * it against CloudFormation's own rules takes a second, so that is done where it is asked for.
 *
 * @throws Error where it is checked and breaks a rule
 */
export const synthesized = (settings: Record<string, unknown> = {}, { isChecked = false } = {}) =>
  inOutdir((outdir) => {
    const context = { ...settings, ...(isChecked && { '@aws-cdk/core:validateAgainstDefaultRules': true }) };
    const app = notificationsApp({ context, outdir, builtinCloudFormationValidation: isChecked });
    const stack = app.node.findChild(String(settings.stackName ?? STACK_NAME));
    if (!(stack instanceof Stack)) throw new Error('There is no stack.');
    const template = Template.fromStack(stack);
    const functionIds = new Map(
      stack.node
        .findAll()
        .filter((construct): construct is ServiceFunction<FunctionName> => construct instanceof ServiceFunction)
        .map((one) => [one.node.id, z.object({ Ref: z.string() }).parse(stack.resolve(one.lambda.functionName)).Ref]),
    );
    return { stack, template, functionIds };
  });

/** A reference to another resource of the template, by the logical id that it names. */
export const reference = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((attribute) => attribute['Fn::GetAtt'][0]),
]);

const declared = z.record(z.string(), z.object({ Properties: z.unknown() }));

/** The properties of all resources of a type, by logical id. */
export const propertiesOf = <Properties>(template: Template, type: string, schema: z.ZodType<Properties>) =>
  new Map(
    Object.entries(declared.parse(template.findResources(type))).map(([id, { Properties }]) => [
      id,
      schema.parse(Properties),
    ]),
  );
