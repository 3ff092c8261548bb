import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { MAX_STACK_NAME_LENGTH } from '../../lib/stack-name.ts';
import { everySetting } from '../support/settings.ts';
import { propertiesOf, synthesized } from '../support/stack.ts';

const longest = 'x'.repeat(MAX_STACK_NAME_LENGTH);

describe('the name of the stack', () => {
  it('may be so long that the longest name made from it is as long as CloudWatch allows, and no longer', () => {
    const { template } = synthesized({ ...everySetting, stackName: longest });
    const rules = propertiesOf(template, 'AWS::CloudWatch::InsightRule', z.object({ RuleName: z.string() }));
    expect(Math.max(...[...rules.values()].map(({ RuleName }) => RuleName.length))).toBe(128);
  });

  it('leaves all other names that are made from it within the limits of AWS', () => {
    const { template } = synthesized({ ...everySetting, stackName: longest });
    const lengths: [key: string, length: number][] = [];
    JSON.stringify(template.toJSON(), (key, value: unknown) => {
      // The elements of lists are parts of the dashboard's text.
      const isNamed = typeof value === 'string' && value.includes(longest) && Number.isNaN(Number(key));
      if (isNamed) lengths.push([key, value.length]);
      return value;
    });
    const limits = new Map([
      ['RuleName', 128],
      ['Name', 128],
      // A tag and a dimension.
      ['Value', 256],
      ['POWERTOOLS_SERVICE_NAME', 256],
    ]);
    expect(new Set(lengths.map(([key]) => key))).toEqual(new Set(limits.keys()));
    expect(lengths.filter(([key, length]) => length > (limits.get(key) ?? 0))).toEqual([]);
  });

  it('is the name of the API, by which several stacks of an account are told apart', () => {
    const { template } = synthesized({ stackName: 'Another' });
    const apis = propertiesOf(template, 'AWS::ApiGatewayV2::Api', z.object({ Name: z.string() }));
    expect([...apis.values()]).toEqual([{ Name: 'Another' }]);
  });

  it.each([
    [
      `${longest}x`,
      /^Invalid setting: stackName: must have at most 90 characters, not 91: names derived from it are limited to 128$/,
    ],
    ['Ours_2', /^Invalid setting: stackName: must start with a letter and contain only letters, digits and hyphens$/],
    ['', /^Invalid setting: stackName: must start with a letter/],
  ])('is refused at synth, in one sentence: %s', (stackName, sentence) => {
    expect(() => synthesized({ stackName })).toThrow(sentence);
  });
});
