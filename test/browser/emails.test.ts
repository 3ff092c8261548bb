import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkAccessibility, launchBrowser, WCAG_AA } from './support/browser.ts';
import { type EmailTexts, sampleEmails } from './support/sample-emails.ts';

/** The widths of a phone and of a tablet. */
const WIDTHS = [400, 800] as const;

let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await launchBrowser();
  const context = await browser.newContext({
    viewport: { width: WIDTHS[0], height: 800 },
    isMobile: true,
    offline: true,
  });
  page = await context.newPage();
});
afterAll(() => browser.close());

const usual: EmailTexts = { id: 'enW7kQ2xB9', label: 'web-1.example.com', status: 'Disk /var is 97 % full' };

/** The colors of the states, as browsers compute them. */
const colors: Readonly<Record<string, string>> = {
  OK: 'rgb(46, 125, 50)',
  WARNING: 'rgb(154, 91, 0)',
  CRITICAL: 'rgb(198, 40, 40)',
};

const repeated = (text: string): EmailTexts => ({
  id: text.repeat(512).slice(0, 512),
  label: text.repeat(255).slice(0, 255),
  status: text.repeat(1_000).slice(0, 1_000),
});

const texts: [string, EmailTexts][] = [
  ['of usual length', usual],
  ['without spaces', repeated('x')],
  ['of wide letters', repeated('W')],
  ['that join words', repeated('word\u2060\u00a0')],
  ['with markup', repeated('<pre>&nbsp;</pre>')],
  ['in Chinese', repeated('磁盘空间不足')],
  ['in Arabic', repeated('مساحة القرص ممتلئة ')],
  ['with directional overrides', repeated('\u202egpj.exe')],
  ['of emoji', repeated('🚨')],
  ['like URLs', repeated('https://example.com/a/very/long/path?with=parameters&more_')],
];

/** Returns what is wider than the screen, or than what contains it. */
const tooWide = (screenWidth: number): Promise<string[]> =>
  page.evaluate((width) => {
    const sticksOut = (element: Element) => {
      const { left, right } = element.getBoundingClientRect();
      return left < 0 || right > width || element.scrollWidth > Math.max(element.clientWidth, Math.ceil(right - left));
    };
    return [document.documentElement, ...document.body.querySelectorAll('*')]
      .filter(sticksOut)
      .map((element) => `${element.tagName} ${element.textContent?.slice(0, 40)}`);
  }, screenWidth);

describe.each([...sampleEmails(usual).keys()])('the email of %s', (kind) => {
  const show = (chosen: EmailTexts) => page.setContent(sampleEmails(chosen).get(kind) ?? '');

  it.each(WIDTHS)('fits a screen of %s pixels, whatever the texts are', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    for (const [name, chosen] of texts) {
      await show(chosen);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBe(width);
      expect(await tooWide(width), name).toEqual([]);
    }
  });

  it('has its state as a bar in its color and as its first word', async () => {
    await show(usual);
    const bar = page.locator('td').first();
    const [state = ''] = (await bar.innerText()).split(' ');
    expect(await page.evaluate(() => document.body.innerText.trim().split(/\s/)[0])).toBe(state);
    expect(await bar.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(colors[state]);
  });

  it('has enough contrast', async () => {
    await show(usual);
    expect(await checkAccessibility(page, WCAG_AA)).toEqual({ violated: [], undecided: [] });
  });
});

it('a command that the screen wraps is copied as one line', async () => {
  await page.setViewportSize({ width: WIDTHS[0], height: 800 });
  await page.setContent(sampleEmails(usual).get('an undelivered notice') ?? '');
  const commands = page.locator('pre');
  for (const command of await commands.all()) {
    await command.selectText();
    const copied = await page.evaluate(() => getSelection()?.toString());
    expect(copied).toBe(await command.textContent());
    expect(copied).toMatch(/^curl .*"$|^curl .*'$/);
    expect((await command.boundingBox())?.height).toBeGreaterThan(40);
  }
  expect(await commands.count()).toBe(3);
});
