import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

export const CHROMIUM_PATH = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

/** Returns a sentence that says what to do if there is no Chromium. */
export const missingChromium = (): string | undefined =>
  existsSync(CHROMIUM_PATH)
    ? undefined
    : `There is no Chromium at ${CHROMIUM_PATH}: run apt-get install chromium, or set CHROMIUM_PATH.`;

/** Starts Chromium with a new, empty profile and no traffic of its own. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM_PATH,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

/** The rules of WCAG 2.2 A and AA. */
export const WCAG_AA = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Returns what violates rules of axe, and what it cannot decide, with the elements that cause it. */
export const checkAccessibility = async (page: Page, runOnly?: string[]) => {
  await page.evaluate(axe.source);
  const { violations, incomplete } = await page.evaluate(
    // A frame is an email, the content of its sender, whose sandbox lets no script in.
    (rules) => window.axe.run(document, { ...(rules && { runOnly: rules }), iframes: false }),
    runOnly,
  );
  const [violated, undecided] = [violations, incomplete].map((results) =>
    results.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`),
  );
  return { violated, undecided };
};
