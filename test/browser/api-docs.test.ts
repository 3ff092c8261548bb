import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type LocalStackProcess, startLocalStackProcess } from '../support/local-stack-process.ts';
import { launchBrowser } from './support/browser.ts';

const operation = z.object({ operationId: z.string(), summary: z.string(), tags: z.array(z.string()) });
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')));

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
