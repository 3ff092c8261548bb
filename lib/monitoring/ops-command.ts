import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** Returns a command of the operators' command line for the stack that contains `scope`, to copy. */
export const opsCommand = (scope: Construct, command: string): string =>
  `npm run -s ops -- ${command} --stack ${Stack.of(scope).stackName}`;
