import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSourceMap, type SourceMap } from '../stack-trace/source-map.ts';
import type { Deployment } from './deployment.ts';
import { errorSummary, OperationError } from './errors.ts';

/** The cloud assembly that `cdk synth` and `cdk deploy` leave in the project directory. */
const ASSEMBLY = resolve(import.meta.dirname, '../../cdk.out');

/** Where to look for source maps. */
export type SourceMapSource = {
  /** A directory with source maps or a cloud assembly. If given, no other place is searched. */
  directory: string | undefined;
  /** Connects to the stack whose bucket has the maps that are not in `cdk.out`. */
  deployment: () => Promise<Deployment>;
};

/**
 * Finds the source map of a release: in the directory, or else in `cdk.out`, or else in the bucket of the stack.
 *
 * @throws OperationError if there is none
 */
export const findSourceMap = async (
  release: string,
  { directory, deployment }: SourceMapSource,
): Promise<SourceMap> => {
  const text = fromDirectory(release, directory ?? ASSEMBLY);
  if (text !== undefined) return parseSourceMap(text);
  if (directory !== undefined) throw notFound(release, `${directory} has none`);
  return parseSourceMap(await fromBucket(release, deployment));
};

/** A map is in the directory itself, or in `maps` of a cloud assembly. */
const fromDirectory = (release: string, directory: string): string | undefined => {
  const paths = [join(directory, `${release}.map`), join(directory, 'maps', `${release}.map`)];
  const path = paths.find((each) => existsSync(each));
  return path && readFileSync(path, 'utf8');
};

const fromBucket = async (release: string, connect: () => Promise<Deployment>): Promise<string> => {
  const deployment = await connect().catch((error: unknown) => {
    throw notFound(release, `cdk.out has none, and no stack can be read (${withoutPeriod(errorSummary(error))})`);
  });
  const { SourceMapsBucket: bucket } = deployment.outputs;
  if (deployment.stackName === undefined)
    throw notFound(release, `cdk.out has none, and the ${deployment.name} has no bucket of source maps`);
  const { GetObjectCommand, S3Client } = await import('@aws-sdk/client-s3');
  try {
    // Path-style addresses also work with endpoints that are not AWS (AWS_ENDPOINT_URL).
    const s3 = new S3Client({ ...deployment.aws, forcePathStyle: true });
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: `${release}.map` }));
    return (await Body?.transformToString()) ?? '';
  } catch (error) {
    throw notFound(release, `cdk.out has none, and ${bucket} responded: ${withoutPeriod(errorSummary(error))}`);
  }
};

const withoutPeriod = (text: string): string => text.replace(/\.$/, '');

const notFound = (release: string, reason: string): OperationError =>
  new OperationError(
    `No source map of release ${release} was found: ${reason}. To rebuild it, check out the commit that was deployed and run \`npm ci && npm run synth\`.`,
  );
