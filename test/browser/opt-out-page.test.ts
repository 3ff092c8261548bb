import { createServer, type Server } from 'node:http';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { optOutUrl, type Recipient } from '../../shared/domain/opt-out.ts';
import { createOptOutHandler } from '../../shared/pipeline/opt-out/handler.ts';
import { apiRequest } from '../support/api-request.ts';
import { listenOnLoopback } from '../support/listen.ts';
import { optOutKeys } from '../support/opt-outs.ts';
import { launchBrowser } from './support/browser.ts';

/** The width of a phone. */
const WIDTH = 400;

const tenants: [string, string][] = [
  ['a usual tenant', 'acme'],
  ['a tenant with a long name', 'W'.repeat(128)],
  ['a tenant with markup in its name', `<img/src=x>"'&`.repeat(9)],
];

/** The steps of the page: the recipients for whom emails were stopped and resumed. */
const steps: string[] = [];
let server: Server;
let browser: Browser;
let page: Page;
let baseUrl: string;

const open = async (options: BrowserContextOptions = {}): Promise<Page> => {
  const viewport = { width: WIDTH, height: 800 };
  const context = await browser.newContext({ viewport, isMobile: true, javaScriptEnabled: false, ...options });
  return context.newPage();
};

const urlOf = async (purpose: 'opt-out' | 'undo', tenant: string): Promise<string> => {
  const recipient: Recipient = { tenant, address: 'oncall@example.com' };
  return optOutUrl(baseUrl, await optOutKeys.current(), purpose, recipient);
};

beforeAll(async () => {
  const handler = createOptOutHandler({
    optOutKeys: { all: async () => [await optOutKeys.current()] },
    optOuts: {
      optOut: async ({ tenant }) => void steps.push(`stopped ${tenant}`),
      undo: async ({ tenant }) => {
        steps.push(`resumed ${tenant}`);
        return true;
      },
      claimLastEmail: async () => false,
      releaseLastEmail: async () => undefined,
    },
    audits: { by: () => () => ({ Put: { TableName: 'audits', Item: {} } }) },
    sendLastEmail: async () => 'sent',
  });
  server = createServer(async (request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    const body = (await request.toArray()).join('');
    const routeKey = `${request.method} ${pathname}`;
    const result = await handler(apiRequest({ routeKey, rawQueryString: search.slice(1), body }));
    response.setHeaders(new Map(Object.entries(result.headers ?? {}).map(([name, value]) => [name, String(value)])));
    response.writeHead(result.statusCode ?? 500).end(result.body);
  });
  baseUrl = `http://127.0.0.1:${await listenOnLoopback(server)}`;
  browser = await launchBrowser();
  page = await open();
});
afterAll(async () => {
  await browser.close();
  server.close();
});

describe('the page of opt-outs, on a phone and without JavaScript', () => {
  it.each(tenants)('stops and resumes emails of %s by one button each', async (_, tenant) => {
    steps.length = 0;
    await page.goto(await urlOf('opt-out', tenant));
    expect(await page.locator('h1').innerText()).toBe('Stop emails');
    expect(steps).toEqual([]);
    await page.getByRole('button').click();
    expect(await page.locator('h1').innerText()).toBe('Emails stopped');
    expect(await page.locator('p').innerText()).toContain(tenant);
    await page.goto(await urlOf('undo', tenant));
    await page.getByRole('button').click();
    expect(await page.locator('h1').innerText()).toBe('Emails resumed');
    expect(steps).toEqual([`stopped ${tenant}`, `resumed ${tenant}`]);
  });

  it.each(tenants)('fits the screen with the name of %s, and has a button for a thumb', async (_, tenant) => {
    const sized = await open({ javaScriptEnabled: true });
    await sized.goto(await urlOf('opt-out', tenant));
    expect(await sized.evaluate(() => document.documentElement.scrollWidth)).toBe(WIDTH);
    expect((await sized.getByRole('button').boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await sized.context().close();
  });

  it('sends nobody its address, and loads nothing', async () => {
    const requests: string[] = [];
    const watched = await open();
    watched.on('request', (request) => requests.push(request.url()));
    const url = await urlOf('opt-out', 'acme');
    await watched.goto(url);
    expect(requests).toEqual([url]);
    await watched.context().close();
  });

  it('cannot be framed', async () => {
    const framing = await open();
    await framing.setContent(`<iframe src="${await urlOf('opt-out', 'acme')}"></iframe>`);
    await framing.waitForTimeout(500);
    const [, frame] = framing.frames();
    expect(await frame?.content().catch(() => '')).not.toContain('Stop emails');
    await framing.context().close();
  });

  it.each(['light', 'dark'] as const)('is accessible in %s mode', async (colorScheme) => {
    // axe needs JavaScript, and the policy of the page permits none.
    const tested = await open({ javaScriptEnabled: true, bypassCSP: true, colorScheme });
    for (const url of [await urlOf('opt-out', 'acme'), await urlOf('undo', 'acme'), `${baseUrl}/opt-out`]) {
      await tested.goto(url);
      await tested.evaluate(axe.source);
      const { violations } = await tested.evaluate(() => window.axe.run(document));
      expect(violations.map(({ id }) => id)).toEqual([]);
    }
    const background = await tested.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    expect(background).toBe('light dark');
    await tested.context().close();
  });
});
