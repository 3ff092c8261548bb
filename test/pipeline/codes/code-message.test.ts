import { expect, it } from 'vitest';
import { codeEmail, codeSms } from '../../../shared/pipeline/codes/code-message.ts';
import { fitsSms } from '../../../shared/pipeline/transports/sms-message.ts';

it('the email of a code says who asks, for how long, and what to do if nothing is expected', () => {
  const { subject, text, html } = codeEmail('acme <b>', '012345');
  expect(subject).toBe('012345 is your verification code');
  for (const part of ['acme <b>', '012345', '24 hours', 'ignore this message']) expect(text).toContain(part);
  expect(html).toContain('acme &lt;b&gt;');
});

it('the SMS of a code starts with it, and fits into one part whatever the name of the account is', () => {
  expect(codeSms('acme', '012345')).toMatch(/^012345 is your .* Account: acme$/);
  expect(fitsSms(codeSms('ä'.repeat(300), '012345'))).toBe(true);
});
