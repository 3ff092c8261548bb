import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { environments, type FunctionName, parseEnvironment } from '../../shared/environment.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

/** The setting that adds a function. */
const functionSettings = { deliveryOutcomes: 'true' };

/** The settings that add environment variables. */
const variableSettings = {
  ...functionSettings,
  heartbeatUrl: 'https://monitor.example.org/push',
  emailReplyTo: 'reply@example.org',
  smsSenderId: 'ALERTS',
  smsOriginationNumber: '+12025550123',
  smsMaxPriceUsd: '0.5',
  feedEndpoint: 'https://feed.example.org/alerts',
};

const { template, functionIds } = synthesize(functionSettings);
const full = synthesize(variableSettings);

/** Parses a template value to a string. A reference becomes a URL. */
const stringValue = z.union([
  z.string(),
  reference.transform((id) => `https://resource.example/${id}`),
  z
    .object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.union([z.string(), reference]))]) })
    .transform((join) => join['Fn::Join'][1].join('')),
]);

const functionSchema = z.object({
  Runtime: z.string(),
  Architectures: z.array(z.string()),
  Role: reference,
  LoggingConfig: z.object({ LogGroup: reference }).loose(),
  Environment: z.object({ Variables: z.record(z.string(), stringValue) }),
  Timeout: z.number(),
  RecursiveLoop: z.string().optional(),
});
const functions = propertiesOf(template, 'AWS::Lambda::Function', functionSchema);
const fullFunctions = propertiesOf(full.template, 'AWS::Lambda::Function', functionSchema);

/** Variables that only Node.js, the metrics and the logger read. */
const RUNTIME_VARIABLES = ['UV_THREADPOOL_SIZE', 'STACK_NAME', 'RELEASE'];

const variablesOf = (name: FunctionName, all: typeof functions, ids: typeof functionIds): Record<string, string> => {
  const { Variables = {} } = all.get(ids.get(name) ?? '')?.Environment ?? {};
  return Object.fromEntries(Object.entries(Variables).filter(([variable]) => !RUNTIME_VARIABLES.includes(variable)));
};

describe('every function', () => {
  it('is in functionNames, and every name has a function', () => {
    expect([...functionIds.keys()].toSorted()).toEqual(functionNames.toSorted());
    expect([...functions.keys()].toSorted()).toEqual([...functionIds.values()].toSorted());
  });

  it('runs on Node.js 24 and arm64, with a timeout of at most 30 s, the limit of the HTTP API', () => {
    for (const { Runtime, Architectures, Timeout } of functions.values()) {
      expect({ Runtime, Architectures }).toEqual({ Runtime: 'nodejs24.x', Architectures: ['arm64'] });
      expect(Timeout).toBeLessThanOrEqual(30);
    }
  });

  it('has its own log group with retention', () => {
    const groups = propertiesOf(template, 'AWS::Logs::LogGroup', z.object({ RetentionInDays: z.number() }));
    const used = [...functions.values()].map(({ LoggingConfig }) => LoggingConfig.LogGroup);
    expect(new Set(used).size).toBe(functions.size);
    for (const group of used) expect(groups.get(group)?.RetentionInDays).toBe(30);
  });

  it('logs in JSON, all that it writes, and of Lambda only failures', () => {
    for (const { LoggingConfig } of functions.values()) {
      expect(LoggingConfig).toEqual({ LogGroup: expect.any(String), LogFormat: 'JSON', SystemLogLevel: 'WARN' });
    }
  });

  it('has its own role, which only Lambda can assume', () => {
    const roles = propertiesOf(template, 'AWS::IAM::Role', z.looseObject({ AssumeRolePolicyDocument: z.unknown() }));
    const used = [...functions.values()].map(({ Role }) => Role);
    expect(new Set(used).size).toBe(functions.size);
    for (const role of used) {
      expect(roles.get(role)).toEqual({
        AssumeRolePolicyDocument: {
          Statement: [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' } }],
          Version: '2012-10-17',
        },
      });
    }
  });

  it('allows recursive loops only if it sends messages to its own queue', () => {
    for (const [name, id] of functionIds) {
      const sendsToItself = name.startsWith('send-');
      expect([name, functions.get(id)?.RecursiveLoop]).toEqual([name, sendsToItself ? 'Allow' : undefined]);
    }
  });
});

describe('function environments', () => {
  it.each(functionNames)('match the schema of the function: %s', (name) => {
    expect(() => parseEnvironment(name, variablesOf(name, functions, functionIds))).not.toThrow();
  });

  it.each(functionNames)('contain every variable that the function reads, with all settings: %s', (name) => {
    expect(Object.keys(variablesOf(name, fullFunctions, full.functionIds)).toSorted()).toEqual(
      Object.keys(environments[name]).toSorted(),
    );
  });
});
