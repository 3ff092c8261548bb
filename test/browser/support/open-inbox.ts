import { close, listen, origin } from 'local-aws/http.ts';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { createInbox, type Inbox } from '../../../bin/local/inbox/inbox.ts';
import { credentials } from './sample-messages.ts';

export type TestInbox = Inbox & {
  url: string;
  send(path: string, init: RequestInit): Promise<Response>;
  clear(): Promise<void>;
  close(): Promise<void>;
};

/** Starts an inbox that knows the tenants `acme` and `globex`; `acme` has webhook credentials. */
export const startInbox = async (port = 0): Promise<TestInbox> => {
  const inbox = createInbox();
  const url = origin(await listen(inbox.server, port));
  inbox.connect({
    addresses: {
      base_url: 'http://127.0.0.1:3000',
      inbox_url: url,
      token: 'mnt_UXBDaTN6bWJSc0lJ4sEXAMPLEEXAMPLEEXAMPLEEXA',
      tenants: ['acme', 'globex'],
    },
    credentialsOf: async (tenant) =>
      tenant === 'acme' ? credentials : { token: undefined, secrets: [], replaced: [] },
    now: Date.now,
  });
  return {
    ...inbox,
    url,
    send: (path, init) => fetch(url + path, init),
    clear: async () => {
      await fetch(url, { method: 'DELETE' });
    },
    close: () => close(inbox.server),
  };
};

export const screens = {
  desktop: { width: 1280, height: 800 },
  mobile: { width: 390, height: 844 },
} as const;

/** How long Playwright waits for an element on a busy machine, in ms. */
const TIMEOUT_MS = 60_000;

/** Opens a page of the inbox in a new browser profile, and waits for the first update. */
export const openPage = async (browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> => {
  const context = await browser.newContext({
    viewport: screens.desktop,
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(url);
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
};

export const rows = (page: Page): Locator => page.getByRole('listbox', { name: 'Messages' }).getByRole('option');

export const openMessage = async (page: Page, text: string): Promise<void> => {
  await rows(page).filter({ hasText: text }).first().click();
  await page.getByRole('article').getByRole('heading', { level: 2 }).filter({ hasText: text }).waitFor();
};

export const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
