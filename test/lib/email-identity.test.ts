import { describe, expect, it } from 'vitest';
import { synthesize } from '../support/stack.ts';

describe('the SES identity', () => {
  it('is not in the stack by default', () => {
    synthesize().template.resourceCountIs('AWS::SES::EmailIdentity', 0);
  });

  it('is the domain of emailFrom if emailIdentity is set, and the DKIM records are outputs', () => {
    const { template } = synthesize({ emailIdentity: 'true', emailFrom: 'alerts@mail.example.org' });
    template.hasResourceProperties('AWS::SES::EmailIdentity', { EmailIdentity: 'mail.example.org' });
    expect(Object.keys(template.findOutputs('*')).filter((name) => name.startsWith('Dkim'))).toEqual([
      'DkimRecord1',
      'DkimRecord2',
      'DkimRecord3',
    ]);
  });
});
