import { expect, it } from 'vitest';
import { allSettings } from '../support/settings.ts';
import { synthesize } from '../support/stack.ts';

it.each([
  ['by default', {}],
  ['with all settings', allSettings],
])('the stack passes the template validation of CloudFormation: %s', (_, settings) => {
  expect(() => synthesize(settings, { isChecked: true })).not.toThrow();
});
