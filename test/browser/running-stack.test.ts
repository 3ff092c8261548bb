import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { statePage } from '../../shared/pipeline/opt-out.ts';
import { type LocalStackProcess, startLocalStackProcess } from '../support/local-stack-process.ts';
import { checkAccessibility, launchBrowser } from './support/browser.ts';
import { clipboard, openPage, rows } from './support/open-inbox.ts';

/** The width of a phone. */
const WIDTH = 400;

const operation = z.object({ operationId: z.string(), summary: z.string(), tags: z.array(z.string()) });
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')));

/** The local stack keeps its files here, so that the command line finds it, and no other stack. */
let directory: string;
let stack: LocalStackProcess;
let browser: Browser;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'pages-'));
  stack = await startLocalStackProcess({}, directory);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Opens the documentation and waits until it is rendered. Records what the page requests and reports as errors. */
const openDocs = async (): Promise<{ page: Page; hosts: Set<string>; errors: string[] }> => {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const hosts = new Set<string>();
  const errors: string[] = [];
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:') hosts.add(host);
  });
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(stack.docs_url);
  await page.locator('.opblock').first().waitFor();
  return { page, hosts, errors };
};

describe('the API documentation in a browser', () => {
  it('shows every operation and the webhook, without an error or a request to another host', async () => {
    const { page, hosts, errors } = await openDocs();
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { operationId, summary, tags }] of Object.entries(operations)) {
        const block = page.locator(`[id="operations-${tags[0]?.replaceAll(' ', '_')}-${operationId}"]`);
        await block.scrollIntoViewIfNeeded();
        const shown = (await block.locator('.opblock-summary').innerText()).replaceAll(/[\s\u200b]+/g, ' ');
        expect(shown).toContain(`${method.toUpperCase()} ${path} ${summary}`);
      }
    }
    expect(await page.locator('.webhooks .opblock').innerText()).toContain('Receive an alert');
    expect([...hosts]).toEqual([new URL(stack.docs_url).host]);
    expect(errors).toEqual([]);
    await page.close();
  });

  it('sends requests to the local stack with the token of an admin', async () => {
    const { page, hosts, errors } = await openDocs();
    const block = page.locator('#operations-notifications-list-notifications');
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    await block.getByRole('button', { name: 'Execute' }).click();
    const response = block.locator('.live-responses-table .response');
    await response.getByText('Email All Technical Contacts').first().waitFor();
    expect(await response.locator('.response-col_status').innerText()).toContain('200');
    expect(await block.locator('.curl').innerText()).toContain(`${stack.base_url}/notifications`);
    expect([...hosts]).toEqual([new URL(stack.docs_url).host]);
    expect(errors).toEqual([]);
    await page.close();
  });
});

const open = async (options: BrowserContextOptions = {}): Promise<Page> => {
  const viewport = { width: WIDTH, height: 800 };
  const context = await browser.newContext({ viewport, isMobile: true, javaScriptEnabled: false, ...options });
  return context.newPage();
};

const inboxMessages = z.array(z.object({ headers: z.record(z.string(), z.string()) }));

const test = async (address: string): Promise<string> => {
  const response = await fetch(`${stack.base_url}/test-notification`, {
    method: 'POST',
    headers: { 'x-auth-token': stack.tokens.admin },
    body: JSON.stringify({ type: 'email', details: { address } }),
  });
  return z.object({ status: z.string() }).parse(await response.json()).status;
};

const linkTo = async (address: string): Promise<string> => {
  expect(await test(address)).toBe('success');
  const response = await fetch(`${stack.inbox_url}/?kind=email&to=${address}`, {
    headers: { accept: 'application/json' },
  });
  const [message] = inboxMessages.parse(await response.json());
  return message?.headers['list-unsubscribe']?.replace(/^<|>$/g, '') ?? expect.fail('There is no link.');
};

it('the page of opt-outs of a running stack, on a phone and without JavaScript, stops and resumes emails by its one button', async () => {
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
      expect((await checkAccessibility(page)).violated).toEqual([]);
    }
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    expect(background).toBe('light dark');
    await page.context().close();
  });
});

const run = promisify(execFile);
/** Runs a command as a user who pastes it into a terminal in the project directory. */
const paste = (command: string) =>
  run('sh', ['-c', command], {
    cwd: new URL('../..', import.meta.url),
    env: { ...process.env, TMPDIR: directory, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });

describe('the inbox page of a running stack', () => {
  let page: Page;
  beforeAll(async () => {
    await fetch(stack.inbox_url, { method: 'DELETE' });
    page = await openPage(browser, stack.inbox_url);
  });

  it('fills by the commands that it shows when it is empty', async () => {
    const items = page.getByRole('main').getByRole('listitem');
    await expect.poll(() => items.count()).toBe(3);
    const commands: string[] = [];
    for (const item of await items.all()) {
      await item.getByRole('button', { name: 'Copy' }).click();
      await item.getByRole('button', { name: 'Copied' }).waitFor();
      commands.push(await clipboard(page));
    }
    for (const command of commands) await paste(command);
    const kinds = () => rows(page).locator('.kind').allTextContents();
    await expect.poll(kinds).toEqual(['Webhook', 'Webhook', 'Email']);
    expect(await rows(page).filter({ hasText: 'Not verified' }).count()).toBe(0);
    await rows(page).first().click();
    await page.getByText('The signature, the timestamp and the token are valid.').waitFor();
    expect(await page.getByRole('article').getByRole('heading', { level: 2 }).textContent()).toMatch(/^\[CRITICAL\]/);
  });
});
