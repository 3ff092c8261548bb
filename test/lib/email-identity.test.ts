import { describe, expect, it } from 'vitest';
import { synthesized } from '../support/stack.ts';

describe('the identity of the mail', () => {
  it('is left to others by default', () => {
    synthesized().template.resourceCountIs('AWS::SES::EmailIdentity', 0);
  });

  it('is the domain of the sender where it is asked for, and the records for its DNS are told', () => {
    const { template } = synthesized({ emailIdentity: 'true', emailFrom: 'alerts@mail.example.org' });
    template.hasResourceProperties('AWS::SES::EmailIdentity', { EmailIdentity: 'mail.example.org' });
    expect(Object.keys(template.findOutputs('*')).filter((name) => name.startsWith('Dkim'))).toEqual([
      'DkimRecord1',
      'DkimRecord2',
      'DkimRecord3',
    ]);
  });
});
