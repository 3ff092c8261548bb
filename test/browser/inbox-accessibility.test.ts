import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkAccessibility, launchBrowser, WCAG_AA } from './support/browser.ts';
import { openMessage, openPage, rows, screens, startInbox, type TestInbox } from './support/open-inbox.ts';
import { email, receiverMessages, signedWebhook, sms } from './support/sample-messages.ts';

let browser: Browser;
let inbox: TestInbox;
let page: Page;
beforeAll(async () => {
  [browser, inbox] = await Promise.all([launchBrowser(), startInbox()]);
});
afterAll(() => Promise.all([browser.close(), inbox.close()]));
afterEach(() => page.context().close());

/** Returns the violations of WCAG 2.2 A and AA, with the elements that cause them. */
const violations = async () => {
  // Transitions change colors for a moment. One whose element is removed is cancelled, so it never finishes.
  const running = () => document.getAnimations().filter(({ playState }) => playState === 'running').length;
  await expect.poll(() => page.evaluate(running)).toBe(0);
  return (await checkAccessibility(page, [...WCAG_AA, 'best-practice'])).violated;
};

const addMessages = async () => {
  await inbox.clear();
  inbox.add(email('Disk space'));
  inbox.add(sms('Short'));
  for (const message of receiverMessages('Memory')) inbox.add(message);
  await inbox.send('/webhooks/acme', { method: 'POST', ...signedWebhook('Genuine') });
  await inbox.send('/webhooks/acme?respond=410', { method: 'POST', ...signedWebhook('Forged', { token: 'wrong' }) });
};

const themes = [
  { colorScheme: 'light', screen: 'desktop' },
  { colorScheme: 'dark', screen: 'mobile' },
] as const;

describe.each(themes)('the inbox page in $colorScheme mode on a $screen screen', ({ colorScheme, screen }) => {
  const open = async (path: string) => {
    page = await openPage(browser, inbox.url + path, { colorScheme, viewport: screens[screen] });
  };
  const back = async () => {
    if (screen === 'mobile') await page.getByRole('button', { name: 'Back to the list' }).click();
  };

  it('meets WCAG AA: empty, with each kind of message, in its dialogs and without a match', async () => {
    await inbox.clear();
    await open('/');
    await page.getByRole('heading', { name: 'No messages yet' }).waitFor();
    expect(await violations()).toEqual([]);
    await addMessages();
    await rows(page).first().waitFor();
    expect(await violations()).toEqual([]);
    for (const text of ['Disk space', 'Short', 'Genuine', 'Memory', 'Forged']) {
      await openMessage(page, text);
      expect(await violations()).toEqual([]);
      if (text === 'Forged') await page.getByRole('tab', { name: 'Headers' }).click();
      expect(await violations()).toEqual([]);
      await back();
    }
    for (const name of ['Webhooks', 'Clear']) {
      await page.getByRole('button', { name }).click();
      await page.getByRole('dialog').waitFor();
      expect(await violations()).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    }
    await page.getByRole('searchbox').fill('nothing has this');
    await page.getByText('No message matches.').waitFor();
    expect(await violations()).toEqual([]);
  });
});

describe('the inbox page by keyboard alone', () => {
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement;
      return `${element?.getAttribute('role') ?? element?.tagName.toLowerCase()} ${element?.getAttribute('aria-label') ?? element?.textContent}`;
    });
  const selectedTitle = () => page.locator('[aria-selected=true] .title').textContent();
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };

  it('is used from the search to the content of a message, and back', async () => {
    await inbox.clear();
    for (const name of ['Third', 'Second', 'First']) inbox.add(email(name));
    page = await openPage(browser, inbox.url);
    await rows(page).first().waitFor();
    await press('Tab');
    expect(await focused()).toBe('input Search messages');
    await press('Tab', 'Tab', 'Tab');
    expect(await focused()).toBe('button All 3');
    await press('Tab', 'Tab', 'Tab');
    expect(await focused()).toBe('listbox Messages');

    await press('ArrowDown');
    await expect.poll(selectedTitle).toContain('First');
    await press('j', 'j');
    await expect.poll(selectedTitle).toContain('Third');
    await press('j', 'k', 'ArrowUp');
    await expect.poll(selectedTitle).toContain('First');
    await press('End');
    await expect.poll(selectedTitle).toContain('Third');
    await press('Home');
    await expect.poll(selectedTitle).toContain('First');
    const active = await page.getByRole('listbox').getAttribute('aria-activedescendant');
    expect(await page.locator(`#${active}`).getAttribute('aria-selected')).toBe('true');
    expect(await focused()).toBe('listbox Messages');

    // Until it has loaded, the page shows the message that was selected before.
    await page.getByRole('heading', { name: 'web-1: First' }).waitFor();
    await press('Enter');
    expect(await focused()).toBe('h2 [CRITICAL] web-1: First');
    await press('Tab', 'Tab', 'Tab');
    expect(await focused()).toBe('tab HTML');
    await press('ArrowRight');
    expect(await focused()).toBe('tab Text');
    await page.getByRole('tabpanel').getByText('Status: First is at 97 %').waitFor();
    await press('End', 'ArrowRight');
    expect(await focused()).toBe('tab HTML');
    await press('Escape');
    expect(await focused()).toBe('listbox Messages');
    await press('/');
    expect(await focused()).toBe('input Search messages');
    await page.keyboard.type('jk/');
    expect(await page.getByRole('searchbox').inputValue()).toBe('jk/');
  });

  it('shows where the focus is', async () => {
    await addMessages();
    page = await openPage(browser, inbox.url);
    await openMessage(page, 'Forged');
    await page.locator('body').click({ position: { x: 1, y: 1 } });
    const controls = page.locator('button:enabled:not([tabindex="-1"]), input, select, [tabindex="0"]:not(button)');
    const count = await controls.filter({ visible: true }).count();
    for (let index = 0; index < count; index += 1) {
      await press('Tab');
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle);
      expect([await focused(), outline]).toEqual([expect.anything(), 'solid']);
    }
  });
});
