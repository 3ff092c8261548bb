import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { statePage } from '../../shared/pipeline/opt-out/page.ts';
import { type LocalStackProcess, startLocalStackProcess } from '../support/local-stack-process.ts';
import { launchBrowser } from './support/browser.ts';

/** The width of a phone. */
const WIDTH = 400;

let stack: LocalStackProcess;
let browser: Browser;
beforeAll(async () => {
  stack = await startLocalStackProcess();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

const open = async (options: BrowserContextOptions = {}): Promise<Page> => {
  const viewport = { width: WIDTH, height: 800 };
  const context = await browser.newContext({ viewport, isMobile: true, javaScriptEnabled: false, ...options });
  return context.newPage();
};

const inboxMessages = z.array(z.object({ headers: z.record(z.string(), z.string()) }));

/** Tests a notification by email. @returns the result */
const test = async (address: string): Promise<string> => {
  const response = await fetch(`${stack.base_url}/test-notification`, {
    method: 'POST',
    headers: { 'x-auth-token': stack.tokens.admin },
    body: JSON.stringify({ type: 'email', details: { address } }),
  });
  return z.object({ status: z.string() }).parse(await response.json()).status;
};

/** Returns the link to the page in an email to an address. */
const linkTo = async (address: string): Promise<string> => {
  expect(await test(address)).toBe('success');
  const response = await fetch(`${stack.inbox_url}/?kind=email&to=${address}`, {
    headers: { accept: 'application/json' },
  });
  const [message] = inboxMessages.parse(await response.json());
  return message?.headers['list-unsubscribe']?.replace(/^<|>$/g, '') ?? expect.fail('There is no link.');
};

describe('the page of opt-outs of a running stack, on a phone and without JavaScript', () => {
  it('stops and resumes emails by its one button', async () => {
    const address = 'phone@example.com';
    const page = await open();
    await page.goto(await linkTo(address));
    expect(await page.locator('h1').innerText()).toBe('Emails are not stopped');
    await page.getByRole('button', { name: 'Stop these emails' }).click();
    expect(await page.locator('h1').innerText()).toBe('Emails are stopped');
    expect(await test(address)).toBe('failure');
    await page.getByRole('button', { name: 'Resume these emails' }).click();
    expect(await page.locator('h1').innerText()).toBe('Emails are not stopped');
    expect(await test(address)).toBe('success');
    await page.context().close();
  });

  it('loads nothing else, and cannot be framed', async () => {
    const url = await linkTo('framed@example.com');
    const requests: string[] = [];
    const watched = await open();
    watched.on('request', (request) => requests.push(request.url()));
    await watched.goto(url);
    expect(requests).toEqual([url]);
    await watched.setContent(`<iframe src="${url}"></iframe>`);
    await watched.waitForTimeout(500);
    const [, frame] = watched.frames();
    expect(await frame?.content().catch(() => '')).not.toContain('Stop these emails');
    await watched.context().close();
  });
});

describe('the page of opt-outs', () => {
  it.each([
    ['a usual tenant', 'acme'],
    ['a tenant with a long name', 'W'.repeat(128)],
    ['a tenant with markup in its name', `<img/src=x>"'&`.repeat(9)],
  ])('fits the screen with the name of %s, and has a button for a thumb', async (_, tenant) => {
    const page = await open({ javaScriptEnabled: true });
    await page.setContent(statePage(200, tenant, undefined).body ?? '');
    expect(await page.locator('p').innerText()).toContain(tenant);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(WIDTH);
    expect((await page.getByRole('button').boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await page.context().close();
  });

  it.each(['light', 'dark'] as const)('is accessible in %s mode', async (colorScheme) => {
    // axe needs JavaScript, and the policy of the page permits none.
    const page = await open({ javaScriptEnabled: true, bypassCSP: true, colorScheme });
    for (const url of [await linkTo(`${colorScheme}@example.com`), `${stack.base_url}/opt-out`]) {
      await page.goto(url);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => window.axe.run(document));
      expect(violations.map(({ id }) => id)).toEqual([]);
    }
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    expect(background).toBe('light dark');
    await page.context().close();
  });
});
