import { expect, it } from 'vitest';
import { createSendCode } from '../../../shared/pipeline/codes/send-code.ts';

const request = { kind: 'code', tenant: 'acme', address: 'oncall@example.com', replaces: true };

it('an address that has opted out of the emails of an account gets no code, and uses up none', async () => {
  const sent: string[] = [];
  const sendCode = createSendCode(
    {
      issue: async (_tenant, address) => {
        sent.push(`issued for ${address}`);
        return { kind: 'issued', code: '123456' };
      },
    },
    (_tenant, send) => send(),
    async (_code, { address }) => {
      sent.push(`sent to ${address}`);
      return { result: 'delivered', explanation: '' };
    },
    async (_tenant, { details }) => (details.address === request.address ? 'opted_out' : undefined),
  );
  expect(await sendCode(request, () => 10_000)).toEqual({
    kind: 'failed',
    isPermanent: true,
    message: 'Not sent: the recipient has opted out of the emails of the account',
  });
  expect(sent).toEqual([]);
  const other = { ...request, address: 'other@example.com' };
  expect(await sendCode(other, () => 10_000)).toEqual({ kind: 'sent' });
  expect(sent).toEqual(['issued for other@example.com', 'sent to other@example.com']);
});
