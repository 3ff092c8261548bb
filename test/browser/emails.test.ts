import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './support/browser.ts';
import { type EmailTexts, sampleEmails } from './support/sample-emails.ts';

const PHONE_WIDTH = 400;

let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await launchBrowser();
  const context = await browser.newContext({
    viewport: { width: PHONE_WIDTH, height: 800 },
    isMobile: true,
    offline: true,
  });
  page = await context.newPage();
});
afterAll(() => browser.close());

const usual: EmailTexts = { id: 'enW7kQ2xB9', label: 'web-1.example.com', status: 'Disk /var is 97 % full' };

/** Texts of the maximum length that each of them may have. */
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
const tooWide = (): Promise<string[]> =>
  page.evaluate((width) => {
    const sticksOut = (element: Element) => {
      const { left, right } = element.getBoundingClientRect();
      return left < 0 || right > width || element.scrollWidth > Math.max(element.clientWidth, Math.ceil(right - left));
    };
    return [document.documentElement, ...document.body.querySelectorAll('*')]
      .filter(sticksOut)
      .map((element) => `${element.tagName} ${element.textContent?.slice(0, 40)}`);
  }, PHONE_WIDTH);

const violations = async (): Promise<string[]> => {
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate(() =>
    window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }),
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`);
};

describe.each([...sampleEmails(usual).keys()])('the email of %s', (kind) => {
  const show = (chosen: EmailTexts) => page.setContent(sampleEmails(chosen).get(kind) ?? '');

  it('fits a phone, whatever the texts are', async () => {
    for (const [name, chosen] of texts) {
      await show(chosen);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBe(PHONE_WIDTH);
      expect(await tooWide(), name).toEqual([]);
    }
  });

  it('has enough contrast, in light and in dark mode', async () => {
    await show(usual);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(), colorScheme).toEqual([]);
    }
  });
});
