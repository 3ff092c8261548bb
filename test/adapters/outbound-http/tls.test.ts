import { createServer } from 'node:https';
import { generate } from 'selfsigned';
import { expect, it, onTestFinished } from 'vitest';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { sendByHttp } from '../../../shared/pipeline/transports/http-transport.ts';
import { webhookResponses } from '../../../shared/pipeline/transports/webhook.ts';
import { alarmEvent } from '../../support/events.ts';

it('sends nothing to a server with an expired or untrusted certificate, and explains the failure', async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    notBeforeDate: new Date('2020-01-01'),
    notAfterDate: new Date('2020-02-01'),
  });
  let requests = 0;
  const server = createServer({ key, cert }, (_request, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = new URL(`https://localhost:${typeof address === 'object' && address ? address.port : 0}/`);
  const http = createHttpClient({ isAllowed: egressRule(['127.0.0.0/8', '::1/128']) });
  const outcome = await sendByHttp(
    webhookResponses,
    http,
    { event: alarmEvent(), timeLeft: () => 30_000 },
    { url, headers: {}, body: '{}' },
  );
  expect(outcome).toMatchObject({ result: 'transient', reason: 'network_error', cause: 'destination' });
  expect(outcome.explanation).toMatch(/^(CERT_HAS_EXPIRED|DEPTH_ZERO_SELF_SIGNED_CERT) while sending to localhost/);
  expect(requests).toBe(0);
});
