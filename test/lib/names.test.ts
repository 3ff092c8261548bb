import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { stackSettings } from '../support/settings.ts';
import { synthesize } from '../support/stack.ts';

/** Types whose resources hold data, or whose names others store. */
const STATEFUL =
  /^AWS::(DynamoDB::Table|SQS::Queue|SNS::Topic|KMS::Key|EC2::EIP|ApiGatewayV2::Api|SES::EmailIdentity)$/;

const templateSchema = z.object({
  Resources: z.record(z.string(), z.object({ Type: z.string() })),
  Outputs: z.record(z.string(), z.object({ Description: z.string().min(10), Export: z.undefined().optional() })),
  Parameters: z.record(z.string(), z.unknown()),
});

/** Returns the names that a stack with these settings must keep. */
const namesIn = (settings: Record<string, unknown>) => {
  const { Resources, Outputs, Parameters } = templateSchema.parse(synthesize(settings).template.toJSON());
  const idsOf = (type: RegExp) =>
    Object.entries(Resources)
      .filter(([, { Type }]) => type.test(Type))
      .map(([id]) => id)
      .sort();
  return {
    stateful: idsOf(STATEFUL),
    alarms: idsOf(/^AWS::CloudWatch::Alarm$/).map((id) => id.replace(/^Monitoring|Alarm[0-9A-F]{8}$/g, '')),
    outputs: Object.keys(Outputs).sort(),
    parameters: Object.keys(Parameters),
  };
};

/** The entries that are in the second list and not in the first. */
const added = (before: readonly string[], after: readonly string[]) => after.filter((name) => !before.includes(name));

const byDefault = namesIn({});

describe('the names of the stack', () => {
  /**
   * CloudFormation replaces a resource whose logical ID changes, and its data stays in the old one: change these only
   * with a migration plan. Operators' scripts use the outputs.
   */
  it('are kept', () => {
    expect(byDefault).toMatchSnapshot();
  });

  it.each(Object.entries(stackSettings).slice(1))(
    'are kept, and differ from the defaults only by these: %s',
    (_, settings) => {
      const names = namesIn(settings);
      const difference = (kind: 'stateful' | 'alarms' | 'outputs') => ({
        added: added(byDefault[kind], names[kind]),
        removed: added(names[kind], byDefault[kind]),
      });
      expect({
        stateful: difference('stateful'),
        alarms: difference('alarms'),
        outputs: difference('outputs'),
      }).toMatchSnapshot();
    },
  );
});
