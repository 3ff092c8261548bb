import { relative } from 'node:path';
import { CfnOutput, FileAssetPackaging, type Stack, Stage } from 'aws-cdk-lib';
import type { FunctionName } from '../shared/environment.ts';
import { type Bundle, functionNames } from './bundles.ts';

/**
 * Publishes the source map of each function to the bucket of the CDK bootstrap stack, as `<release>.map`. A deployment
 * uploads only the maps of new releases and deletes none, so log lines of older releases can still be traced. The
 * outputs tell `ops stack-trace` where the maps are and which releases are deployed.
 */
export const publishSourceMaps = (stack: Stack, bundleOf: (name: FunctionName) => Bundle): void => {
  const assembly = Stage.of(stack)?.outdir ?? 'cdk.out';
  const buckets = functionNames.map((name) => {
    const { release, sourceMap } = bundleOf(name);
    const asset = stack.synthesizer.addFileAsset({
      fileName: relative(assembly, sourceMap),
      packaging: FileAssetPackaging.FILE,
      sourceHash: release,
      displayName: `Source map of ${name}`,
    });
    return asset.bucketName;
  });
  const [bucket = ''] = buckets;
  new CfnOutput(stack, 'SourceMapsBucket', {
    value: bucket,
    description: 'S3 bucket of the source maps, which are named after the release of a function',
  });
  const releases = Object.fromEntries(functionNames.map((name) => [name, bundleOf(name).release]));
  new CfnOutput(stack, 'Releases', {
    value: JSON.stringify(releases),
    description: 'Releases of all functions as JSON',
  });
};
