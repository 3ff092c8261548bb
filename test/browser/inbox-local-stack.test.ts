import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalStackProcess, startLocalStackProcess } from '../support/local-stack-process.ts';
import { launchBrowser } from './support/browser.ts';
import { clipboard, openPage, rows } from './support/open-inbox.ts';

/** The local stack keeps its files here, so that the command line finds it, and no other stack. */
let directory: string;
let stack: LocalStackProcess;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'inbox-'));
  stack = await startLocalStackProcess({}, directory);
  browser = await launchBrowser();
  page = await openPage(browser, stack.inbox_url);
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const run = promisify(execFile);
/** Runs a command as a user who pastes it into a terminal in the project directory. */
const paste = (command: string) =>
  run('sh', ['-c', command], {
    cwd: new URL('../..', import.meta.url),
    env: { ...process.env, TMPDIR: directory, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });

describe('the inbox page of a running stack', () => {
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

  it('stops although a webhook waits for a slow response', async () => {
    const body = JSON.stringify({
      type: 'webhook',
      details: { url: `${stack.inbox_url}/webhooks/acme?respond=slow` },
    });
    const headers = { 'x-auth-token': stack.tokens.admin };
    const pending = fetch(`${stack.base_url}/test-notification`, { method: 'POST', headers, body }).catch(
      () => undefined,
    );
    await rows(page).filter({ hasText: 'Responded slow' }).waitFor();
    const started = performance.now();
    await stack.stop();
    await pending;
    // The sender would wait 15 s for the response. The page is told as well: its connection ends.
    expect(performance.now() - started).toBeLessThan(14_000);
    await page.getByText('Disconnected: the local stack has stopped.').waitFor();
  });
});
