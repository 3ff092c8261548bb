import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { propertiesOf, synthesize, withOutputDirectory } from '../support/stack.ts';

const { notificationsApp, STACK_NAME } = await import('../../lib/app.ts');

const { template, functionIds } = synthesize();

const manifest = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.object({ packaging: z.string() }),
      destinations: z.record(z.string(), z.object({ bucketName: z.string(), objectKey: z.string() })),
    }),
  ),
});

describe('the source maps of a deployment', () => {
  it('are uploaded to the bucket in the outputs, each under the release of its function', () => {
    const { files } = withOutputDirectory((outdir) => {
      notificationsApp({ outdir, builtinCloudFormationValidation: false }).synth();
      return manifest.parse(JSON.parse(readFileSync(join(outdir, `${STACK_NAME}.assets.json`), 'utf8')));
    });
    const uploads = functionNames.map((name) => {
      const { source, destinations } = files[name] ?? { destinations: {} };
      return [source?.packaging, Object.values(destinations)];
    });
    const bucketName = expect.stringMatching(/^cdk-hnb659fds-assets-\$\{AWS::AccountId\}-\$\{AWS::Region\}$/);
    // The tests synthesize without bundling, with the name of a function as its release.
    expect(uploads).toEqual(
      functionNames.map((name) => ['file', [expect.objectContaining({ bucketName, objectKey: `${name}.ts` })]]),
    );
    expect(template.findOutputs('SourceMapsBucket')).toMatchObject({
      SourceMapsBucket: { Value: { 'Fn::Sub': bucketName } },
    });
  });

  it('are named by the variable RELEASE of every function, and by an output', () => {
    const functions = propertiesOf(
      template,
      'AWS::Lambda::Function',
      z.object({ Environment: z.object({ Variables: z.object({ RELEASE: z.string() }) }) }),
    );
    const releases = functionNames.map((name) => [
      name,
      functions.get(functionIds.get(name) ?? '')?.Environment.Variables.RELEASE,
    ]);
    expect(releases).toEqual(functionNames.map((name) => [name, name]));
    const { Releases } = z
      .object({ Releases: z.object({ Value: z.string() }) })
      .parse(template.findOutputs('Releases'));
    expect(JSON.parse(Releases.Value)).toEqual(Object.fromEntries(releases));
  });
});
