import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { MAX_STACK_NAME_LENGTH } from '../../lib/stack-name.ts';
import { allSettings } from '../support/settings.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';

const longestName = 'x'.repeat(MAX_STACK_NAME_LENGTH);

describe('the stack name', () => {
  it('keeps all names derived from it within AWS limits', () => {
    const { template } = synthesize({ ...allSettings, stackName: longestName });
    const lengths: [key: string, length: number][] = [];
    JSON.stringify(template.toJSON(), (key, value: unknown) => {
      // List elements are fragments of the dashboard body.
      const isNamed = typeof value === 'string' && value.includes(longestName) && Number.isNaN(Number(key));
      if (isNamed) lengths.push([key, value.length]);
      return value;
    });
    const limits = new Map([
      ['RuleName', 128],
      ['Name', 128],
      // Namespaces of metrics.
      ['MetricNamespace', 255],
      ['Namespace', 255],
      // Tags and metric dimensions.
      ['Value', 256],
      ['STACK_NAME', 256],
      // Commands in the texts of alarms.
      ['AlarmDescription', 1_024],
    ]);
    expect(new Set(lengths.map(([key]) => key))).toEqual(new Set(limits.keys()));
    expect(lengths.filter(([key, length]) => length > (limits.get(key) ?? 0))).toEqual([]);
  });

  it('is the name of the API, which identifies the stack in an account', () => {
    const { template } = synthesize({ stackName: 'Another' });
    const apis = propertiesOf(template, 'AWS::ApiGatewayV2::Api', z.object({ Name: z.string() }));
    expect([...apis.values()]).toEqual([{ Name: 'Another' }]);
  });

  it.each([`${longestName}x`, 'Stack_2', '1Stack', ''])(
    'is rejected at synthesis if it is invalid: %j',
    (stackName) => {
      expect(() => synthesize({ stackName })).toThrow(
        `Invalid setting: stackName must have at most 113 letters, digits and hyphens and start with a letter, not "${stackName}".`,
      );
    },
  );
});
