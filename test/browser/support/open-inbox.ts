import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { close, listen, origin } from '../../../bin/local/aws/http.ts';
import { createInbox, type Inbox } from '../../../bin/local/inbox/inbox.ts';
import { credentials } from './sample-messages.ts';

/** An inbox without a stack behind it: tests add the messages. */
export type TestInbox = Inbox & { url: string; close(): Promise<void> };

/** Starts an inbox that knows the tenants `acme` and `globex`; `acme` has webhook credentials. */
export const startInbox = async (port = 0): Promise<TestInbox> => {
  const inbox = createInbox();
  const url = origin(await listen(inbox.server, port));
  inbox.connect({
    addresses: {
      base_url: 'http://127.0.0.1:3000',
      inbox_url: url,
      token: 'mnt_example',
      tenants: ['acme', 'globex'],
    },
    credentialsOf: async (tenant) =>
      tenant === 'acme' ? credentials : { token: undefined, secrets: [], replaced: [] },
    now: Date.now,
  });
  return { ...inbox, url, close: () => close(inbox.server) };
};

/** The screens of the tests. */
export const screens = {
  desktop: { width: 1280, height: 800 },
  mobile: { width: 390, height: 844 },
} as const;

/** Opens a page of the inbox in a new browser profile. Closing the browser closes it. */
export const openPage = async (browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> => {
  const context = await browser.newContext({
    viewport: screens.desktop,
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  });
  const page = await context.newPage();
  await page.goto(url);
  // The first update has arrived: the stream itself stays open, so the network never becomes idle.
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
};
