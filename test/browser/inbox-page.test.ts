import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launchBrowser } from './support/browser.ts';
import { clipboard, openMessage, openPage, rows, screens, startInbox, type TestInbox } from './support/open-inbox.ts';
import { email, receiverMessages, signedWebhook, sms } from './support/sample-messages.ts';

let browser: Browser;
let inbox: TestInbox;
let page: Page;
let errors: string[];
beforeAll(async () => {
  [browser, inbox] = await Promise.all([launchBrowser(), startInbox()]);
});
afterAll(() => Promise.all([browser.close(), inbox.close()]));
beforeEach(() => inbox.clear());
afterEach(async () => {
  await page.context().close();
  expect(errors).toEqual([]);
});

/** Opens the page; errors of its script and violations of its policy fail the test. */
const open = async (path = '/', options = {}) => {
  page = await openPage(browser, inbox.url + path, options);
  errors = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) errors.push(message.text());
  });
};
const titles = () => rows(page).locator('.title').allTextContents();
const addMany = (count: number, prefix: string) => {
  for (let number = 1; number <= count; number += 1) inbox.add(sms(`${prefix} ${number}`));
};

describe('the list of the inbox page', () => {
  it('shows a message as soon as it arrives, newest first, and counts it in the title', async () => {
    await open();
    inbox.add(sms('First'));
    inbox.add(email('Disk space'));
    await expect.poll(titles).toEqual(['[CRITICAL] web-1: Disk space', 'First']);
    expect(await page.title()).toBe('Inbox (2)');
    await page.getByRole('status').filter({ hasText: '2 messages' }).waitFor({ state: 'attached' });
  });

  it('keeps selection, scroll position, selected text and focus when messages arrive', async () => {
    addMany(200, 'Before');
    await open();
    const list = page.getByRole('listbox');
    await list.evaluate((element) => element.scrollTo({ top: 4000 }));
    await rows(page).filter({ hasText: 'Before 140' }).click();
    const body = page.getByRole('article').locator('pre');
    await body.waitFor();
    await body.evaluate((element) => getSelection()?.selectAllChildren(element));
    await list.focus();
    const state = () =>
      page.evaluate(() => {
        const [row] = document.querySelectorAll('[aria-selected=true]');
        return {
          selected: row?.textContent,
          rowTop: row?.getBoundingClientRect().top,
          text: String(getSelection()),
          focus: document.activeElement?.getAttribute('role'),
        };
      });
    const before = await state();
    expect(before).toMatchObject({ text: 'Before 140', focus: 'listbox', selected: expect.stringContaining('140') });
    addMany(30, 'After');
    await expect.poll(async () => (await titles())[0]).toBe('After 30');
    expect(await state()).toEqual(before);
  });

  it('shows older messages on request', async () => {
    addMany(600, 'Number');
    await open();
    await expect.poll(titles).toHaveLength(500);
    await page.getByRole('button', { name: 'Show older messages' }).click();
    await expect.poll(async () => (await titles()).at(-1)).toBe('Number 1');
  });

  it('filters by kind and recipient, with counts, and keeps the filters in the address', async () => {
    inbox.add(email('Disk space', 'a@example.com'));
    inbox.add(email('CPU load', 'b@example.com'));
    inbox.add(sms('Text'));
    await open();
    await page.getByRole('button', { name: 'All 3' }).waitFor();
    await page.getByRole('button', { name: 'Email 2' }).click();
    await expect.poll(titles).toEqual(['[CRITICAL] web-1: CPU load', '[CRITICAL] web-1: Disk space']);
    await page.getByLabel('To').selectOption({ label: 'a@example.com (1)' });
    await expect.poll(titles).toEqual(['[CRITICAL] web-1: Disk space']);
    await page.getByRole('button', { name: 'Email 1' }).waitFor();
    expect(new URL(page.url()).search).toBe('?kind=email&to=a%40example.com');
    await page.reload();
    await expect.poll(titles).toEqual(['[CRITICAL] web-1: Disk space']);
  });

  it('searches in everything that a message contains, also in messages that arrive later', async () => {
    inbox.add(sms('Other'));
    await inbox.send('/webhooks/acme', { method: 'POST', headers: { 'user-agent': 'needle' }, body: '{}' });
    await open();
    await page.getByRole('searchbox').fill('NEEDLE');
    await expect.poll(titles).toEqual(['POST /webhooks/acme']);
    inbox.add(sms('Later'));
    inbox.add(sms('Later with needle'));
    await expect.poll(titles).toEqual(['Later with needle', 'POST /webhooks/acme']);
    await page.getByRole('searchbox').fill('nothing has this');
    await page.getByText('No message matches.').waitFor();
    await page.getByRole('button', { name: 'Show all messages' }).click();
    await expect.poll(titles).toHaveLength(4);
  });

  it('deletes what the filters show, after a confirmation', async () => {
    inbox.add(email('Disk space'));
    inbox.add(sms('Keep'));
    await open('/?kind=email');
    await page.getByRole('button', { name: 'Clear' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 1 message?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(inbox.list()).toHaveLength(2);
    await page.getByRole('button', { name: 'Clear' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No message matches.').waitFor();
    expect(inbox.list()).toMatchObject([{ text: 'Keep' }]);
  });

  it('shows that the stack has stopped, and reconnects when it is back', async () => {
    const other = await startInbox();
    page = await openPage(browser, other.url);
    errors = [];
    other.add(sms('Before the restart'));
    await expect.poll(titles).toEqual(['Before the restart']);
    await other.close();
    await page.getByText('Disconnected: the local stack has stopped. Reconnecting').waitFor();
    const restarted = await startInbox(Number(new URL(other.url).port));
    restarted.add(sms('After the restart'));
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(titles).toEqual(['After the restart']);
    await restarted.close();
  });
});

describe('a message on the inbox page', () => {
  it('shows the HTML of an email as a recipient sees it, its text and its source', async () => {
    inbox.add(email('Disk space'));
    await open();
    await openMessage(page, 'Disk space');
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'web-1: Disk space' }).waitFor();
    const color = (element: Element) => getComputedStyle(element).backgroundColor;
    expect(await frame.getByText('CRITICAL', { exact: true }).evaluate(color)).toBe('rgb(198, 40, 40)');
    await page.getByRole('tab', { name: 'Text' }).click();
    await page.getByRole('tabpanel').getByText('Status: Disk space is at 97 %').waitFor();
    await page.getByRole('tab', { name: 'Source' }).click();
    await page.getByRole('tabpanel').getByText('<!doctype html>').waitFor();
  });

  it('formats JSON without rounding numbers, and shows it as it arrived', async () => {
    const json = '{"id":12345678901234567890,"list":[1.50,true,null],"text":"a\\"b"}';
    await inbox.send('/webhooks/globex', { method: 'POST', body: json });
    await open();
    await openMessage(page, 'POST /webhooks/globex');
    const panel = page.getByRole('tabpanel').locator('pre');
    expect(await panel.textContent()).toBe(
      '{\n  "id": 12345678901234567890,\n  "list": [\n    1.50,\n    true,\n    null\n  ],\n  "text": "a\\"b"\n}',
    );
    await page.getByRole('tab', { name: 'Raw' }).click();
    expect(await panel.textContent()).toBe(json);
  });

  it('shows a body that is no JSON, or is cut off, as it arrived', async () => {
    for (const body of ['{"cut":', '<cut', 'plain']) await inbox.send('/pager', { method: 'POST', body });
    await open();
    for (const body of ['{"cut":', '<cut', 'plain']) {
      await rows(page).filter({ hasText: body }).click();
      await expect.poll(() => page.getByRole('tabpanel').locator('pre').textContent()).toBe(body);
      expect(await page.getByRole('tab').allTextContents()).toEqual(['Raw']);
    }
  });

  it('shows the first part of a very large body, and all of it on request', async () => {
    await inbox.send('/pager', { method: 'POST', body: 'x'.repeat(300_000) });
    await open();
    await rows(page).first().click();
    const length = () => page.locator('pre').evaluate((element) => element.textContent?.length);
    await expect.poll(length).toBe(200_000);
    await page.getByRole('button', { name: 'Show all 300,000 characters' }).click();
    await expect.poll(length).toBe(300_000);
  });

  it('shows whether a webhook is verified, or why not, with its headers and response', async () => {
    await inbox.send('/webhooks/acme', { method: 'POST', ...signedWebhook('Disk space') });
    const old = signedWebhook('CPU load', { token: 'other-token', timestampMs: Date.now() - 600_000 });
    await inbox.send('/webhooks/acme?respond=410', { method: 'POST', ...old });
    await open();
    expect(await rows(page).first().textContent()).toMatch(/Not verified.*Responded 410/);
    await openMessage(page, 'CPU load');
    const verification = page.getByRole('region', { name: 'Verification' });
    await verification.getByText(/The header webhook-timestamp is too old: 60\d seconds/).waitFor();
    await verification.getByText('The header x-monitoring-webhook-token is not the webhook token of').waitFor();
    await openMessage(page, 'Disk space');
    await verification.getByText('Verified', { exact: true }).waitFor();
    await verification.getByText('Signed with the current secret.').waitFor();
    await page.getByRole('tab', { name: 'Headers' }).click();
    await page.getByRole('row', { name: 'webhook-id msg_1' }).waitFor();
  });

  it('copies its body and its address', async () => {
    inbox.add(email('Disk space'));
    await inbox.send('/webhooks/acme', { method: 'POST', body: '{"a":1}' });
    await open();
    await openMessage(page, 'Disk space');
    await page.getByRole('button', { name: 'Copy body' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard(page)).toContain('\nStatus: Disk space is at 97 %\n');
    await page.getByRole('button', { name: 'Copy address' }).click();
    await expect.poll(() => clipboard(page)).toBe('oncall@example.com');
    await openMessage(page, 'POST /webhooks/acme');
    await page.getByRole('button', { name: 'Copy body' }).click();
    await expect.poll(() => clipboard(page)).toBe('{"a":1}');
    await page.getByRole('button', { name: 'Copy address' }).click();
    await expect.poll(() => clipboard(page)).toBe(`${inbox.url}/webhooks/acme`);
  });

  it('is announced as gone if it was deleted', async () => {
    await open('/?id=999999');
    inbox.add(sms('Another'));
    await page.getByText('This message no longer exists.').waitFor();
  });
});

it('the webhook addresses on the inbox page can be copied, and their response selected, here or by HTTP', async () => {
  await open();
  await page.getByRole('button', { name: 'Webhooks' }).click();
  const item = page.getByRole('listitem').filter({ hasText: 'globex' });
  await item.getByRole('button', { name: 'Copy address' }).click();
  await expect.poll(() => clipboard(page)).toBe(`${inbox.url}/webhooks/globex`);
  const select = page.getByLabel('Response of globex');
  await select.selectOption('410 Gone');
  await expect
    .poll(async () => (await inbox.send('/webhooks/globex', { method: 'POST', body: '{}' })).status)
    .toBe(410);
  await inbox.send('/webhooks/globex', { method: 'PUT', body: '{"respond":"slow"}' });
  await expect.poll(() => select.inputValue()).toBe('slow');
  await inbox.send('/webhooks/globex', { method: 'PUT', body: '{"respond":"200"}' });
  await expect.poll(() => select.inputValue()).toBe('200');
});

it('the inbox page on a narrow screen shows the list or the message, and returns with the button of the page or of the browser', async () => {
  for (const message of receiverMessages('Disk space')) inbox.add(message);
  await inbox.send('/webhooks/acme', { method: 'POST', ...signedWebhook('CPU load') });
  await open('/', { viewport: screens.mobile });
  const isTooWide = () => page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  await expect.poll(titles).toHaveLength(5);
  expect(await isTooWide()).toBe(false);
  await openMessage(page, 'CPU load');
  expect(await page.getByRole('listbox').isVisible()).toBe(false);
  expect(await isTooWide()).toBe(false);
  await page.getByRole('tab', { name: 'Headers' }).click();
  expect(await isTooWide()).toBe(false);
  await page.getByRole('button', { name: 'Back to the list' }).click();
  await page.getByRole('listbox').waitFor();
  await openMessage(page, 'CPU load');
  await page.goBack();
  await page.getByRole('listbox').waitFor();
});
