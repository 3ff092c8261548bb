import { expect, it } from 'vitest';
import { createShadowReport } from '../../shared/pipeline/shadow-report.ts';

const reportOf = async (tenants: string[]) => {
  const published: { subject: string; text: string }[] = [];
  const publish = async (message: { subject: string; text: string }) => void published.push(message);
  await createShadowReport(async () => tenants, publish)();
  return published;
};

it('the report of shadow mode names each tenant in one message', async () => {
  expect(await reportOf(['acme', 'globex'])).toEqual([
    {
      subject: 'Shadow mode: alerts of 2 tenants are not sent',
      text: expect.stringContaining('\n\nacme\nglobex\n\n'),
    },
  ]);
});

it('the report of shadow mode counts the tenants that it does not name', async () => {
  const [message] = await reportOf(Array.from({ length: 103 }, (_, index) => `t${index}`));
  expect(message?.subject).toBe('Shadow mode: alerts of 103 tenants are not sent');
  expect(message?.text).toMatch(/\nt99\nand 3 more\n/);
});

it('without a tenant in shadow mode there is no report', async () => {
  expect(await reportOf([])).toEqual([]);
});
