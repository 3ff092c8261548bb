import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, Stack, Stage } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { vi } from 'vitest';
import * as z from 'zod';
import { ServiceFunction } from '../../lib/service-function.ts';

/** Replaces bundling, which is slow: these tests do not read the code of functions. */
vi.doMock(import('../../lib/bundles.ts'), async (original) => ({
  ...(await original()),
  bundleFunctions: () => (name) => ({
    directory: import.meta.dirname,
    release: name,
  }),
}));
const { notificationsApp } = await import('../../lib/app.ts');

/** Calls `use` with a temporary directory for a cloud assembly, then deletes it. */
export const withOutputDirectory = <Result>(use: (outdir: string) => Result): Result => {
  const outdir = mkdtempSync(join(tmpdir(), 'monitoring-notifications-'));
  try {
    return use(outdir);
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
};

const stackOf = (app: App): Stack => {
  const stack = app.node.children.find((child) => child instanceof Stack);
  if (!stack) throw new Error('The app has no stack.');
  return stack;
};

/** Returns the warnings of the app with this context, which needs no synthesis. */
export const warningsOf = (context: Record<string, unknown>, stagesDirectory?: string): string[] =>
  withOutputDirectory((outdir) =>
    stackOf(notificationsApp({ context, outdir }, stagesDirectory))
      .node.metadata.filter(({ type }) => type === 'aws:cdk:warning')
      .map(({ data }) => String(data)),
  );

/**
 * Synthesizes the stack with these settings. `isChecked` validates the template against the rules of CloudFormation, which
 * takes a second. @throws Error if that fails
 */
export const synthesize = (settings: Record<string, unknown> = {}, { isChecked = false } = {}) => {
  const key = JSON.stringify([settings, isChecked]);
  const result = synthesized.get(key) ?? synthesizeOnce(settings, isChecked);
  synthesized.set(key, result);
  return result;
};

/** Stacks by their settings: synthesis takes half a second, and many files of a worker use the same settings. */
const synthesized = new Map<string, ReturnType<typeof synthesizeOnce>>();

/** Calls `use` with the stack before it is synthesized, so that `use` can add constructs. */
export const unfinishedStack = <Result>(
  settings: Record<string, unknown>,
  use: (stack: Stack) => Result,
  isChecked = false,
): Result =>
  withOutputDirectory((outdir) => {
    const context = {
      // As `cdk` does, and alarms in tests are named by their paths.
      'aws:cdk:enable-path-metadata': true,
      ...settings,
      ...(isChecked && { '@aws-cdk/core:validateAgainstDefaultRules': true }),
    };
    const app = notificationsApp({ context, outdir, builtinCloudFormationValidation: isChecked });
    return use(stackOf(app));
  });

const synthesizeOnce = (settings: Record<string, unknown>, isChecked: boolean) =>
  unfinishedStack(
    settings,
    (stack) => {
      const template = Template.fromStack(stack);
      const bytes = statSync(join(Stage.of(stack)?.outdir ?? '', stack.templateFile)).size;
      const functionIds = new Map(
        stack.node
          .findAll()
          .filter((construct): construct is ServiceFunction => construct instanceof ServiceFunction)
          .map(({ node, lambda }) => [
            node.id,
            z.object({ Ref: z.string() }).parse(stack.resolve(lambda.functionName)).Ref,
          ]),
      );
      return { stack, template, bytes, functionIds };
    },
    isChecked,
  );

/** Parses `Ref` and `Fn::GetAtt` to the logical ID of the resource. */
export const reference = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((attribute) => attribute['Fn::GetAtt'][0]),
]);

const resourcesSchema = z.record(z.string(), z.object({ Properties: z.unknown().default({}) }));

/** Returns the parsed properties of all resources of a type, by logical ID. */
export const propertiesOf = <Properties>(template: Template, type: string, schema: z.ZodType<Properties>) =>
  new Map(
    Object.entries(resourcesSchema.parse(template.findResources(type))).map(([id, { Properties }]) => [
      id,
      schema.parse(Properties),
    ]),
  );
