import { join } from 'node:path';
import { useBundles } from 'local-aws/test/support/bundles.ts';
import { parseRaw, sendRaw } from 'local-aws/test/support/raw-http.ts';
import { template } from 'local-aws/test/support/template.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localSettings } from '../../bin/local/settings.ts';
import { type LocalStack, startLocalStack } from '../../bin/local/stack.ts';

const bundles = useBundles({
  enqueue: '',
  work: '',
  fallback: `exports.handler = async ({ rawPath }) => ({ statusCode: 404, body: rawPath });`,
});

let settings: Record<string, string> = {};
let stack: LocalStack;
beforeAll(async () => {
  stack = await startLocalStack({
    synthesize: (given) => {
      settings = given;
      const bundle = (key: string) => join(bundles.directory, key.replace('.zip', ''));
      return { template, bundle, remove: () => undefined };
    },
    basePath: '/v1.0/1',
  });
});
afterAll(async () => {
  await stack.stop();
});

describe('the local stack', () => {
  it('reports its addresses and tokens when ready', () => {
    const token = expect.stringMatching(/^mnt_/);
    expect(stack.ready).toEqual({
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1\.0\/1$/),
      tokens: { admin: token, creator: token, observer: token, other_admin: token },
      tenants: { admin: 'acme', creator: 'acme', observer: 'acme', other_admin: 'globex' },
      aws_endpoint: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      alarm_queue_url: `${stack.ready.aws_endpoint}/000000000000/Jobs`,
      inbox_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      aws_environment: {
        AWS_ENDPOINT_URL: stack.ready.aws_endpoint,
        AWS_REGION: 'us-east-1',
        AWS_DEFAULT_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      },
      docs_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    });
  });

  it('returns 404 outside its base path', async () => {
    const { origin } = new URL(stack.ready.base_url);
    expect(await (await fetch(`${stack.ready.base_url}/other`)).text()).toBe('/v1.0/1/other');
    expect(
      parseRaw(await sendRaw(origin, 'GET /jobs/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).status,
    ).toBe(404);
  });
});

describe('the settings of the local stack', () => {
  it('use the inbox as pager, router and feed, and allow loopback addresses', () => {
    expect(settings).toMatchObject({ linkScheme: 'http', egressAllow: expect.stringContaining('127.0.0.0/8') });
    expect(settings.pagerEndpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/pager$/);
  });

  it('are overridden by settings of the user and by strict egress', () => {
    const given = localSettings({ settings: { linkScheme: 'https' }, strictEgress: true, inboxUrl: 'http://inbox' });
    expect(given.linkScheme).toBe('https');
    expect(given).not.toHaveProperty('egressAllow');
  });

  it('send the heartbeats of a stage to the inbox, not to its monitor', () => {
    const given = localSettings({ settings: { stage: 'prod' }, strictEgress: false, inboxUrl: 'http://inbox' });
    expect(given.heartbeatUrl).toMatch(/^http:\/\/inbox\/webhooks\//);
  });
});
