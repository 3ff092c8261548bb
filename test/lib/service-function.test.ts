import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { environments, type FunctionName } from '../../shared/environment.ts';
import { propertiesOf, reference, synthesized } from '../support/stack.ts';

/** Every setting that adds a variable somewhere. */
const everything = {
  emailReplyTo: 'reply@example.org',
  smsSenderId: 'ALERTS',
  smsOriginationNumber: '+12025550123',
  smsMaxPriceUsd: '0.5',
  feedEndpoint: 'https://feed.example.org/alerts',
};

const { template, functionIds } = synthesized();
const full = synthesized(everything);

/** A value of a template as a text: a reference becomes an address. */
const text = z.union([
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
  LoggingConfig: z.object({ LogGroup: reference }),
  Environment: z.object({ Variables: z.record(z.string(), text) }),
  Timeout: z.number(),
  RecursiveLoop: z.string().optional(),
});
const functions = propertiesOf(template, 'AWS::Lambda::Function', functionSchema);
const fullFunctions = propertiesOf(full.template, 'AWS::Lambda::Function', functionSchema);

/** Those of Node and of the library of metrics, which no function of ours reads itself. */
const NOT_OURS = ['UV_THREADPOOL_SIZE', 'POWERTOOLS_SERVICE_NAME'];

const variablesOf = (name: FunctionName, all: typeof functions, ids: typeof functionIds): Record<string, string> => {
  const { Variables = {} } = all.get(ids.get(name) ?? '')?.Environment ?? {};
  return Object.fromEntries(Object.entries(Variables).filter(([variable]) => !NOT_OURS.includes(variable)));
};

describe('every function', () => {
  it('is one of the list, and every one of the list is there', () => {
    expect([...functionIds.keys()].toSorted()).toEqual(functionNames.toSorted());
    expect([...functions.keys()].toSorted()).toEqual([...functionIds.values()].toSorted());
  });

  it('runs on Node.js 24 and arm64, for at most 30 s, which is how long the HTTP API waits', () => {
    for (const { Runtime, Architectures, Timeout } of functions.values()) {
      expect({ Runtime, Architectures }).toEqual({ Runtime: 'nodejs24.x', Architectures: ['arm64'] });
      expect(Timeout).toBeLessThanOrEqual(30);
    }
  });

  it('writes to a log group of its own, which forgets', () => {
    const groups = propertiesOf(template, 'AWS::Logs::LogGroup', z.object({ RetentionInDays: z.number() }));
    const used = [...functions.values()].map(({ LoggingConfig }) => LoggingConfig.LogGroup);
    expect(new Set(used).size).toBe(functions.size);
    for (const group of used) expect(groups.get(group)?.RetentionInDays).toBe(30);
  });

  it('has a role of its own, for which Lambda alone stands in', () => {
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

  it('may send to its own queue where it retries or continues, and never where it does not', () => {
    for (const [name, id] of functionIds) {
      const isOwnProducer = name.startsWith('send-') || name === 'dispatch-alarm-events';
      expect([name, functions.get(id)?.RecursiveLoop]).toEqual([name, isOwnProducer ? 'Allow' : undefined]);
    }
  });
});

describe('the environment of every function', () => {
  it.each(functionNames)('is one that it can start with: %s', (name) => {
    const result = environments[name].safeParse(variablesOf(name, functions, functionIds));
    expect(result.error?.issues ?? []).toEqual([]);
  });

  it.each(functionNames)('holds nothing that it does not read: %s', (name) => {
    const read = Object.keys(environments[name].shape);
    expect(read).toEqual(expect.arrayContaining(Object.keys(variablesOf(name, functions, functionIds))));
  });

  it.each(functionNames)('holds everything that it reads where all settings are given: %s', (name) => {
    expect(Object.keys(variablesOf(name, fullFunctions, full.functionIds)).toSorted()).toEqual(
      Object.keys(environments[name].shape).toSorted(),
    );
  });

  it('never holds a secret', () => {
    for (const name of functionNames) {
      for (const variable of Object.keys(variablesOf(name, fullFunctions, full.functionIds))) {
        expect(variable).not.toMatch(/SECRET|PASSWORD|CREDENTIAL/);
      }
    }
  });

  it('lets 32 names be looked up at once, and a batch of retries where they are users’: libuv takes half of the threads for it', () => {
    const withMore = [...functionIds].filter(
      ([, id]) => functions.get(id)?.Environment.Variables.UV_THREADPOOL_SIZE !== '64',
    );
    const dialling = ['send-webhook', 'send-incidentpager', 'send-incidentrouter', 'send-atomfeed'];
    expect(withMore.map(([name]) => name).toSorted()).toEqual(dialling.toSorted());
    for (const [, id] of withMore) expect(functions.get(id)?.Environment.Variables.UV_THREADPOOL_SIZE).toBe('200');
  });
});
